/* SPDX-License-Identifier: Apache-2.0 */
/* Two facts make the problem small.  A GPU is a left part of four units, which takes a
 * 4g, or 2g and 1g, and a right part with three slices, which takes a 3g, or one 2g and
 * 1g; so whether counts of instances fit on a number of GPUs follows from sums.  And with
 * few GPUs there are few slices to spare beyond the minimum of the services, so only
 * combinations that waste no more than these matter: dynamic programming over the counts
 * covers all of them. */
#include "core/serve/serve.h"

#include "base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define GPU_SLICES 7
#define NOTHING UINT16_MAX
/* Combinations of instances (cuts) that are considered for one service. */
#define CUTS_MAX 4096

const uint8_t clv_serve_slices[_CLV_SERVE_SIZES] = {1, 2, 3, 4, 7};
const uint8_t clv_serve_units[_CLV_SERVE_SIZES] = {1, 2, 4, 4, 8};

struct cut {
	uint16_t n[_CLV_SERVE_SIZES];
};

struct cuts {
	struct cut items[CUTS_MAX];
	unsigned n;
	bool is_cut_off; /* there are more */
};

/* A table of dynamic programming: the state is the counts of 7g, 4g, 3g and 2g as one
 * index, the value the fewest 1g. */
struct table {
	unsigned n_gpus;
	size_t n_states;
	uint16_t *fewest;  /* [state]: of the services so far */
	uint16_t *choices; /* [service][state]: the cut taken last */
};

static unsigned limit_of(unsigned n_gpus, unsigned size)
{
	return size == CLV_SERVE_2G   ? 3 * n_gpus
	       : size == CLV_SERVE_3G ? 2 * n_gpus
				      : n_gpus;
}

static size_t state_of(unsigned n_gpus, const uint16_t n[_CLV_SERVE_SIZES])
{
	size_t state = 0;

	for (unsigned size = CLV_SERVE_2G; size < _CLV_SERVE_SIZES; size++)
		state = state * (limit_of(n_gpus, size) + 1) + n[size];
	return state;
}

static void counts_of(unsigned n_gpus, size_t state, uint16_t n[_CLV_SERVE_SIZES])
{
	for (unsigned size = _CLV_SERVE_SIZES - 1; size >= CLV_SERVE_2G; size--) {
		n[size] = (uint16_t)(state % (limit_of(n_gpus, size) + 1));
		state /= limit_of(n_gpus, size) + 1;
	}
}

static bool fits(unsigned n_gpus, const uint16_t n[_CLV_SERVE_SIZES])
{
	int gpus = (int)n_gpus - n[CLV_SERVE_7G];
	int left = gpus - n[CLV_SERVE_4G];
	int right = gpus - n[CLV_SERVE_3G];

	/* A 3g without a free right part takes a whole left one. */
	if (right < 0) {
		left += right;
		right = 0;
	}
	return gpus >= 0 && left >= 0 && n[CLV_SERVE_2G] <= 2 * left + right &&
	       n[CLV_SERVE_1G] <= 4 * left + 3 * right - 2 * n[CLV_SERVE_2G];
}

/* Adds every combination of instances of this size and smaller ones that serves the rate
 * with at most slices_left slices. */
static void cut_further(const struct clv_serve_service *service, struct cut *cut,
	int size, double rate, int slices_left, struct cuts *ret)
{
	double capacity;
	unsigned n = 0;

	if (rate <= 1e-9) {
		if (ret->n < CUTS_MAX)
			ret->items[ret->n++] = *cut;
		else
			ret->is_cut_off = true;
		return;
	}
	if (size < 0)
		return;
	capacity = service->capacity[size];
	for (;; n++) {
		cut->n[size] = (uint16_t)n;
		cut_further(service, cut, size - 1, rate - n * capacity,
			slices_left - (int)n * clv_serve_slices[size], ret);
		if (capacity <= 0 || rate - n * capacity <= 1e-9 ||
			slices_left < (int)(n + 1) * clv_serve_slices[size])
			break;
	}
	cut->n[size] = 0;
}

static void find_cuts(
	const struct clv_serve_service *service, unsigned most_slices, struct cuts *ret)
{
	struct cut cut = {0};

	ret->n = 0;
	ret->is_cut_off = false;
	cut_further(service, &cut, CLV_SERVE_7G, service->rate, (int)most_slices, ret);
}

/* The fewest slices that serve the service; 0 if none do. */
static unsigned least_slices(const struct clv_serve_service *service)
{
	double best = 0;
	struct cuts cuts;
	unsigned least = 0;

	for (unsigned i = 0; i < _CLV_SERVE_SIZES; i++) {
		double per_slice = service->capacity[i] / clv_serve_slices[i];

		best = per_slice > best ? per_slice : best;
	}
	if (best <= 0)
		return 0;
	for (unsigned n = (unsigned)ceil(service->rate / best - 1e-9);
		least == 0 && n <= CLV_SERVE_GPUS_MAX * GPU_SLICES; n++) {
		find_cuts(service, n, &cuts);
		least = cuts.n > 0 ? n : 0;
	}
	return least;
}

/* Adds a service to the table. */
static int add_service(struct table *table, size_t service, const struct cuts *cuts)
{
	_cleanup_free_ uint16_t *before = malloc(table->n_states * sizeof(*before));
	uint16_t *choices = &table->choices[service * table->n_states];

	if (!before)
		return -ENOMEM;
	memcpy(before, table->fewest, table->n_states * sizeof(*before));
	memset(table->fewest, 0xff, table->n_states * sizeof(*before));
	for (size_t state = 0; state < table->n_states; state++) {
		uint16_t counts[_CLV_SERVE_SIZES];

		if (before[state] == NOTHING)
			continue;
		counts_of(table->n_gpus, state, counts);
		for (unsigned i = 0; i < cuts->n; i++) {
			uint16_t sum[_CLV_SERVE_SIZES];
			bool is_in = true;
			size_t next;

			sum[CLV_SERVE_1G] = (uint16_t)(before[state] +
						       cuts->items[i].n[CLV_SERVE_1G]);
			for (unsigned k = CLV_SERVE_2G; k < _CLV_SERVE_SIZES; k++) {
				sum[k] = (uint16_t)(counts[k] + cuts->items[i].n[k]);
				is_in = is_in && sum[k] <= limit_of(table->n_gpus, k);
			}
			if (!is_in || !fits(table->n_gpus, sum))
				continue;
			next = state_of(table->n_gpus, sum);
			if (sum[CLV_SERVE_1G] < table->fewest[next]) {
				table->fewest[next] = sum[CLV_SERVE_1G];
				choices[next] = (uint16_t)i;
			}
		}
	}
	return 0;
}

static int table_init(struct table *table, unsigned n_gpus, size_t n_services)
{
	table->n_gpus = n_gpus;
	table->n_states = 1;
	for (unsigned size = CLV_SERVE_2G; size < _CLV_SERVE_SIZES; size++)
		table->n_states *= limit_of(n_gpus, size) + 1;
	table->fewest = malloc(table->n_states * sizeof(uint16_t));
	table->choices = malloc((n_services * table->n_states + 1) * sizeof(uint16_t));
	if (!table->fewest || !table->choices)
		return -ENOMEM;
	memset(table->fewest, 0xff, table->n_states * sizeof(uint16_t));
	table->fewest[0] = 0;
	return 0;
}

static void table_done(struct table *table)
{
	free(table->fewest);
	free(table->choices);
}

/* Walks back from a state in which all services are served. */
static void trace_back(const struct table *table, const struct cuts *cuts,
	size_t n_services, size_t state, struct cut *ret)
{
	for (size_t i = n_services; i-- > 0;) {
		uint16_t counts[_CLV_SERVE_SIZES];

		ret[i] = cuts[i].items[table->choices[i * table->n_states + state]];
		counts_of(table->n_gpus, state, counts);
		for (unsigned k = CLV_SERVE_2G; k < _CLV_SERVE_SIZES; k++)
			counts[k] = (uint16_t)(counts[k] - ret[i].n[k]);
		state = state_of(table->n_gpus, counts);
	}
}

/* Finds cuts that fit on plan->n_gpus GPUs; -ENOSPC if there are none. */
static int cut_for(const struct clv_serve_service *services, size_t n_services,
	const unsigned *least, unsigned spare, struct clv_serve_plan *plan,
	struct cut *ret)
{
	_cleanup_free_ struct cuts *cuts = calloc(n_services + 1, sizeof(*cuts));
	struct table table = {0};
	int r = cuts ? table_init(&table, plan->n_gpus, n_services) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n_services; i++) {
		find_cuts(&services[i], least[i] + spare, &cuts[i]);
		plan->is_exact = plan->is_exact && !cuts[i].is_cut_off;
		r = add_service(&table, i, &cuts[i]);
	}
	for (size_t state = 0; r == 0 && state < table.n_states; state++) {
		if (table.fewest[state] == NOTHING)
			continue;
		trace_back(&table, cuts, n_services, state, ret);
		table_done(&table);
		return 0;
	}
	table_done(&table);
	return r < 0 ? r : -ENOSPC;
}

/* The rest of the left or the right part of a GPU. */
struct part {
	uint8_t start, units, slices;
};

static bool put(struct part *part, unsigned size, uint8_t *ret_start)
{
	uint8_t units = clv_serve_units[size];

	if (part->units < units || part->slices < clv_serve_slices[size])
		return false;
	*ret_start = part->start;
	part->start = (uint8_t)(part->start + units);
	part->units = (uint8_t)(part->units - units);
	part->slices = (uint8_t)(part->slices - clv_serve_slices[size]);
	return true;
}

/* Places an instance: right parts are tried before left ones, except for a 4g, which fits
 * left ones only. */
static bool put_somewhere(struct part (*parts)[2], unsigned n_gpus, unsigned size,
	struct clv_serve_instance *ret)
{
	for (int side = size == CLV_SERVE_4G ? 0 : 1; side >= 0; side--) {
		for (unsigned gpu = 0; gpu < n_gpus; gpu++) {
			if (!put(&parts[gpu][side], size, &ret->start))
				continue;
			ret->gpu = (uint16_t)gpu;
			return true;
		}
	}
	return false;
}

static bool put_whole(
	struct part (*parts)[2], unsigned n_gpus, struct clv_serve_instance *ret)
{
	for (unsigned gpu = 0; gpu < n_gpus; gpu++) {
		if (parts[gpu][0].units < 4 || parts[gpu][1].units < 4)
			continue;
		parts[gpu][0] = parts[gpu][1] = (struct part){0};
		ret->gpu = (uint16_t)gpu;
		ret->start = 0;
		return true;
	}
	return false;
}

/* Places all instances, largest first.  The counts are known to fit. */
static int place(const struct cut *cuts, size_t n_services, struct clv_serve_plan *plan)
{
	struct part parts[CLV_SERVE_GPUS_MAX][2];
	size_t n = 0;

	for (unsigned i = 0; i < plan->n_gpus; i++) {
		parts[i][0] = (struct part){.start = 0, .units = 4, .slices = 4};
		parts[i][1] = (struct part){.start = 4, .units = 4, .slices = 3};
	}
	for (size_t i = 0; i < n_services; i++) {
		for (unsigned size = 0; size < _CLV_SERVE_SIZES; size++)
			n += cuts[i].n[size];
	}
	plan->instances = calloc(n + 1, sizeof(*plan->instances));
	if (!plan->instances)
		return -ENOMEM;
	for (int size = CLV_SERVE_7G; size >= 0; size--) {
		for (size_t i = 0; i < n_services; i++) {
			for (unsigned k = 0; k < cuts[i].n[size]; k++) {
				struct clv_serve_instance *instance =
					&plan->instances[plan->n_instances++];

				instance->service = (uint16_t)i;
				instance->size = (uint8_t)size;
				if (!(size == CLV_SERVE_7G
						    ? put_whole(parts, plan->n_gpus,
							      instance)
						    : put_somewhere(parts, plan->n_gpus,
							      (unsigned)size, instance)))
					return -ENOSPC;
			}
		}
	}
	return 0;
}

int clv_serve_plan(const struct clv_serve_service *services, size_t n_services,
	struct clv_serve_plan *ret)
{
	unsigned least[CLV_SERVE_SERVICES_MAX], sum = 0;
	struct clv_serve_plan plan = {.is_exact = true};
	_cleanup_free_ struct cut *cuts = calloc(n_services + 1, sizeof(*cuts));
	int r = -ENOSPC;

	if (n_services > CLV_SERVE_SERVICES_MAX)
		return -EINVAL;
	if (!cuts)
		return -ENOMEM;
	for (size_t i = 0; i < n_services; i++) {
		least[i] = services[i].rate > 0 ? least_slices(&services[i]) : 0;
		if (services[i].rate > 0 && least[i] == 0)
			return -ERANGE;
		sum += least[i];
	}
	plan.n_gpus = (sum + GPU_SLICES - 1) / GPU_SLICES;
	for (; r == -ENOSPC && plan.n_gpus <= CLV_SERVE_GPUS_MAX; plan.n_gpus++) {
		r = cut_for(services, n_services, least, GPU_SLICES * plan.n_gpus - sum,
			&plan, cuts);
		if (r == 0)
			break;
	}
	if (r == -ENOSPC)
		return -ERANGE;
	if (r == 0)
		r = place(cuts, n_services, &plan);
	if (r < 0) {
		free(plan.instances);
		return r;
	}
	*ret = plan;
	return 0;
}
