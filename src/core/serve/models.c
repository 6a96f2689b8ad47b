/* SPDX-License-Identifier: Apache-2.0 */
/* A pressure p is possible exactly if items of size + demand / p can be packed into bins
 * of a GPU's memory, because demand / (memory - size) <= p is equivalent.  So each
 * packing gives a pressure, the search continues with smaller ones, and when there is no
 * packing the last one was the best.  Bins are filled one after the other, each around
 * the largest remaining item.  The total empty space of all bins is known in advance,
 * which bounds the search. */
#include "core/serve/models.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define STEPS 60000
#define TRY_STEPS 10000 /* for one packing */
#define CLOSER 1e-9

struct packing {
	unsigned n_items, n_bins;
	double items[CLV_MODELS_MAX]; /* largest first */
	double memory;
	uint16_t bin[CLV_MODELS_MAX]; /* by item, where placed */
	uint64_t placed;              /* bitmap */
	uint64_t steps_left;
};

static bool fill_bin(struct packing *packing, unsigned bin, double spare);

/* Adds items from index next on to the current bin.  The space that stays empty is taken
 * from what all bins together may leave empty.  Fuller bins are tried first. */
static bool fill_further(
	struct packing *packing, unsigned bin, unsigned next, double room, double spare)
{
	if (packing->steps_left == 0)
		return false;
	packing->steps_left--;
	for (unsigned i = next; i < packing->n_items; i++) {
		uint64_t bit = UINT64_C(1) << i;

		if (packing->placed & bit || packing->items[i] > room)
			continue;
		packing->placed |= bit;
		packing->bin[i] = (uint16_t)bin;
		if (fill_further(packing, bin, i + 1, room - packing->items[i], spare))
			return true;
		packing->placed &= ~bit;
	}
	return room <= spare && fill_bin(packing, bin + 1, spare - room);
}

static bool fill_bin(struct packing *packing, unsigned bin, double spare)
{
	unsigned first = 0;

	while (first < packing->n_items && packing->placed >> first & 1)
		first++;
	if (first == packing->n_items)
		return true;
	if (bin == packing->n_bins || packing->items[first] > packing->memory)
		return false;
	packing->placed |= UINT64_C(1) << first;
	packing->bin[first] = (uint16_t)bin;
	if (fill_further(packing, bin, first + 1, packing->memory - packing->items[first],
		    spare))
		return true;
	packing->placed &= ~(UINT64_C(1) << first);
	return false;
}

struct search {
	const struct clv_models_model *models;
	size_t n_models;
	unsigned n_gpus;
	double memory;
	uint64_t steps_left;
	bool has_given_up; /* a packing was not found within its steps */
};

/* Creates the items for a pressure, largest first, and the model of each.  Returns their
 * sum. */
static double make_items(const struct search *search, double pressure,
	struct packing *packing, uint8_t *ret_model)
{
	double sum = 0;

	for (unsigned i = 0; i < search->n_models; i++) {
		const struct clv_models_model *model = &search->models[i];
		double item = model->size + model->demand / pressure;
		unsigned at = i;

		for (; at > 0 && packing->items[at - 1] < item; at--) {
			packing->items[at] = packing->items[at - 1];
			ret_model[at] = ret_model[at - 1];
		}
		packing->items[at] = item;
		ret_model[at] = (uint8_t)i;
		sum += item;
	}
	return sum;
}

static double worst_of(const struct search *search, const uint16_t *gpu)
{
	double sizes[CLV_MODELS_MAX] = {0}, demands[CLV_MODELS_MAX] = {0}, worst = 0;

	for (unsigned i = 0; i < search->n_models; i++) {
		sizes[gpu[i]] += search->models[i].size;
		demands[gpu[i]] += search->models[i].demand;
	}
	for (unsigned i = 0; i < search->n_gpus; i++) {
		double pressure = demands[i] / (search->memory - sizes[i]);

		if (sizes[i] >= search->memory && demands[i] > 0)
			return INFINITY;
		worst = demands[i] > 0 && pressure > worst ? pressure : worst;
	}
	return worst;
}

/* Whether the pressure is possible; if so, the plan gets one that is no worse. */
static bool try_pressure(
	struct search *search, double pressure, struct clv_models_plan *plan)
{
	struct packing packing = {
		.n_items = (unsigned)search->n_models,
		.n_bins = search->n_gpus,
		.memory = search->memory,
		.steps_left =
			search->steps_left < TRY_STEPS ? search->steps_left : TRY_STEPS,
	};
	uint64_t n_steps = packing.steps_left;
	uint8_t model[CLV_MODELS_MAX] = {0};
	double spare = search->n_gpus * search->memory -
		       make_items(search, pressure, &packing, model);
	/* All bins together leave exactly what is spare; the tolerance is for
	 * rounding. */
	bool is_found =
		spare >= 0 && fill_bin(&packing, 0, spare + CLOSER * search->memory);

	search->steps_left -= n_steps - packing.steps_left;
	search->has_given_up |= !is_found && packing.steps_left == 0;
	if (!is_found)
		return false;
	for (unsigned i = 0; i < packing.n_items; i++)
		plan->gpu[model[i]] = packing.bin[i];
	plan->worst = worst_of(search, plan->gpu);
	return true;
}

/* The lower bound, below which the items exceed the memory of all GPUs. */
static double least_pressure(const struct search *search)
{
	double size = 0, demand = 0;

	for (size_t i = 0; i < search->n_models; i++) {
		size += search->models[i].size;
		demand += search->models[i].demand;
	}
	return demand / (search->n_gpus * search->memory - size);
}

/* Initial placement: the most demanding (or largest) models first, each where the
 * pressure is least at that point. */
static bool place_greedily(
	const struct search *search, bool is_by_size, struct clv_models_plan *plan)
{
	double sizes[CLV_MODELS_MAX] = {0}, demands[CLV_MODELS_MAX] = {0};
	uint64_t placed = 0;

	for (size_t n = 0; n < search->n_models; n++) {
		unsigned next = CLV_MODELS_MAX, best = CLV_MODELS_MAX;
		double least = INFINITY;

		for (unsigned i = 0; i < search->n_models; i++) {
			const struct clv_models_model *model = &search->models[i];

			if (placed >> i & 1)
				continue;
			if (next == CLV_MODELS_MAX ||
				(is_by_size ? model->size > search->models[next].size
					    : model->demand >
							search->models[next].demand))
				next = i;
		}
		for (unsigned i = 0; i < search->n_gpus; i++) {
			double left =
				search->memory - sizes[i] - search->models[next].size;

			if (left > 0 && demands[i] / left < least) {
				least = demands[i] / left;
				best = i;
			}
		}
		if (best == CLV_MODELS_MAX)
			return false;
		placed |= UINT64_C(1) << next;
		sizes[best] += search->models[next].size;
		demands[best] += search->models[next].demand;
		plan->gpu[next] = (uint16_t)best;
	}
	plan->worst = worst_of(search, plan->gpu);
	return true;
}

/* Bisects between the lower bound and the best pressure found.  A packing that is not
 * found within its steps counts as impossible, and then nothing is proven. */
static void improve(struct search *search, struct clv_models_plan *plan)
{
	double low = least_pressure(search);

	plan->is_proven = true;
	while (plan->worst - low > CLOSER * plan->worst) {
		double middle = low + (plan->worst - low) / 2;
		struct clv_models_plan better = *plan;

		if (search->steps_left == 0) {
			plan->is_proven = false;
			return;
		}
		if (try_pressure(search, middle, &better) && better.worst < plan->worst)
			*plan = better;
		else
			low = middle;
	}
	plan->is_proven = plan->is_proven && !search->has_given_up;
}

int clv_models_plan(const struct clv_models_model *models, size_t n_models,
	unsigned n_gpus, double gpu_memory, uint64_t most_steps,
	struct clv_models_plan *ret)
{
	struct clv_models_plan plan = {0};
	struct search search = {
		.models = models,
		.n_models = n_models,
		.n_gpus = n_gpus,
		.memory = gpu_memory,
		.steps_left = most_steps ? most_steps : STEPS,
	};

	if (n_models > CLV_MODELS_MAX || n_gpus == 0 || n_gpus > CLV_MODELS_MAX)
		return -EINVAL;
	if (!place_greedily(&search, false, &plan) &&
		!place_greedily(&search, true, &plan))
		return -ENOSPC;
	improve(&search, &plan);
	*ret = plan;
	return 0;
}
