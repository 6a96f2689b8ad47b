/* SPDX-License-Identifier: Apache-2.0 */
/* Policies at every fill and under departures, with the same arrivals for all of them.
 *
 * fill: a trace in a drawn order, then requests drawn from it, until 130 % of the fleet
 * has been requested; nothing departs.  steady: Poisson arrivals of requests drawn from
 * the trace, with exponential lives, at several loads.
 *
 * Prints a JSON object for each level and policy: the part of the fleet that is
 * allocated, its difference to the first policy's over the seeds, and the number of
 * requests refused by size. */
#include "place-input.h"
#include "place-published.h"

#include "base/cleanup.h"
#include "core/fleet/fleet.h"
#include "core/place/place.h"
#include "core/place/policy.h"
#include "simulate/departures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLICIES_MAX 16
#define LEVELS_MAX 16
#define SEEDS_MAX 64
#define N_SIZES 6

/* Times are in parts of the mean life. */
#define LIFE 1000000.0
#define WARM_LIVES 2.5
#define LIVES 6.0

static const double fills[] = {50, 70, 80, 90, 96, 100, 110, 130};
static const double loads[] = {70, 80, 90, 95, 100, 110, 120};

struct plan {
	const struct place_input *input;
	const struct clv_workload *learned;
	const struct clv_place_policy *policies[POLICIES_MAX];
	unsigned n_policies, n_seeds;
	uint64_t first_seed;
	const double *levels;
	unsigned n_levels;
	bool is_steady;
	const char *name;
};

/* Of one policy, level and seed. */
struct outcome {
	double allocated; /* per cent of the fleet */
	uint64_t refused[N_SIZES];
};

static struct outcome outcomes[POLICIES_MAX][LEVELS_MAX][SEEDS_MAX];

struct world {
	struct clv_fleet *fleet;
	struct clv_placer *placer;
	uint64_t refused[N_SIZES];
};

static unsigned size_of(const struct clv_place_request *request)
{
	if (request->n_devices == 0)
		return 0;
	if (request->n_devices == 1)
		return request->milli < CLV_PLACE_WHOLE ? 1 : 2;
	return request->n_devices == 2 ? 3 : request->n_devices <= 4 ? 4 : 5;
}

static void world_begin(
	struct world *world, const struct plan *plan, unsigned policy, uint64_t seed)
{
	struct place_random random = {.state = seed ^ UINT64_C(0x5eed)};
	uint32_t n = plan->input->fleet->n_nodes;
	_cleanup_free_ uint32_t *ties = calloc(n, sizeof(*ties));
	struct clv_placer_options options = {.seed = seed};

	*world = (struct world){0};
	if (!ties)
		place_die("out of memory");
	for (uint32_t i = 0; i < n; i++)
		ties[i] = i;
	place_random_shuffle(&random, ties, n);
	world->fleet = place_input_ordered(plan->input->fleet, ties, n);
	if (clv_placer_new(world->fleet, plan->policies[policy], plan->learned, &options,
		    &world->placer, NULL) < 0)
		place_die("out of memory");
}

static void world_end(struct world *world)
{
	clv_placer_free(world->placer);
	clv_fleet_free(world->fleet);
}

static bool place(struct world *world, const struct clv_trace_item *item, uint32_t *lease)
{
	if (!item->is_of_no_model &&
		clv_placer_place(world->placer, &item->request, lease) == 0)
		return true;
	world->refused[size_of(&item->request)]++;
	return false;
}

static double percent_held(const struct clv_fleet *fleet)
{
	return 100 * (double)fleet->held_milli / (double)fleet->milli;
}

static void fill(const struct plan *plan, unsigned policy, unsigned seed)
{
	struct place_random random = {.state = plan->first_seed + seed};
	const struct place_input *input = plan->input;
	_cleanup_free_ uint32_t *order = calloc(input->n_items, sizeof(*order));
	uint64_t milli = 0;
	unsigned level = 0;
	struct world world;

	if (!order)
		place_die("out of memory");
	for (uint32_t i = 0; i < input->n_items; i++)
		order[i] = i;
	place_random_shuffle(&random, order, input->n_items);
	world_begin(&world, plan, policy, plan->first_seed + seed);
	for (size_t n = 0; level < plan->n_levels; n++) {
		const struct clv_trace_item *item =
			&input->items[n < input->n_items
					      ? order[n]
					      : place_random_below(&random,
							(uint32_t)input->n_items)];
		uint32_t lease;

		place(&world, item, &lease);
		milli += clv_fleet_request_milli(world.fleet, &item->request);
		while (level < plan->n_levels &&
			100 * (double)milli >=
				plan->levels[level] * (double)world.fleet->milli) {
			struct outcome *outcome = &outcomes[policy][level++][seed];

			outcome->allocated = percent_held(world.fleet);
			memcpy(outcome->refused, world.refused, sizeof(world.refused));
		}
	}
	world_end(&world);
}

/* The time between arrivals at a load, in parts of the mean life. */
static double gap_at(const struct plan *plan, unsigned level)
{
	const struct place_input *input = plan->input;
	double milli = 0;

	for (size_t i = 0; i < input->n_items; i++)
		milli += clv_fleet_request_milli(input->fleet, &input->items[i].request);
	return milli / (double)input->n_items * LIFE /
	       (plan->levels[level] / 100 * (double)input->fleet->milli);
}

static double exponential(struct place_random *random, double mean)
{
	return -log(1 - place_random_part(random)) * mean;
}

/* Ends what is due, and adds up what was allocated since the warm-up. */
static void depart(struct world *world, struct clv_departures *departures, double now,
	double *last, double *held)
{
	struct clv_departure departure;

	while (clv_departures_take(departures, (int64_t)now, &departure)) {
		if ((double)departure.at_s > *last) {
			*held += percent_held(world->fleet) *
				 ((double)departure.at_s - *last);
			*last = (double)departure.at_s;
		}
		clv_fleet_release(world->fleet, departure.lease);
	}
}

static void steady(
	const struct plan *plan, unsigned policy, unsigned level, unsigned seed)
{
	struct place_random random = {.state = plan->first_seed + seed};
	const struct place_input *input = plan->input;
	struct clv_departures departures = {0};
	double gap = gap_at(plan, level), held = 0, now = 0, last = WARM_LIVES * LIFE;
	struct outcome *outcome = &outcomes[policy][level][seed];
	struct world world;

	world_begin(&world, plan, policy, plan->first_seed + seed);
	while (now < LIVES * LIFE) {
		const struct clv_trace_item *item;
		int64_t life;
		uint32_t lease;

		now += exponential(&random, gap);
		item = &input->items[place_random_below(
			&random, (uint32_t)input->n_items)];
		life = (int64_t)exponential(&random, LIFE) + 1;
		depart(&world, &departures, now, &last, &held);
		if (now < WARM_LIVES * LIFE)
			memset(world.refused, 0, sizeof(world.refused));
		if (place(&world, item, &lease) &&
			clv_departures_add(&departures, (int64_t)now + life, lease) < 0)
			place_die("out of memory");
	}
	outcome->allocated = held / (last - WARM_LIVES * LIFE);
	memcpy(outcome->refused, world.refused, sizeof(world.refused));
	clv_departures_done(&departures);
	world_end(&world);
}

static void print_outcome(const struct plan *plan, unsigned policy, unsigned level)
{
	double mean = 0, above = 0, least = 1e9, squares = 0, n = plan->n_seeds;
	uint64_t refused[N_SIZES] = {0};

	for (unsigned seed = 0; seed < plan->n_seeds; seed++) {
		const struct outcome *own = &outcomes[policy][level][seed];
		double one = own->allocated - outcomes[0][level][seed].allocated;

		mean += own->allocated / n;
		above += one / n;
		squares += one * one / n;
		least = one < least ? one : least;
		for (unsigned i = 0; i < N_SIZES; i++)
			refused[i] += own->refused[i];
	}
	printf("{\"trace\": \"%s\", \"mode\": \"%s\", \"level\": %.0f, \"policy\": "
	       "\"%s\", \"allocated\": %.3f, \"above\": %.3f, \"error\": %.3f, "
	       "\"least\": %.3f, \"refused\": [",
		plan->name, plan->is_steady ? "steady" : "fill", plan->levels[level],
		plan->policies[policy]->name, mean, above,
		n > 1 ? sqrt(fmax(0, squares - above * above) / (n - 1)) : 0, least);
	for (unsigned i = 0; i < N_SIZES; i++)
		printf("%s%.1f", i ? ", " : "", (double)refused[i] / n);
	printf("]}\n");
}

static void run(const struct plan *plan)
{
	for (unsigned policy = 0; policy < plan->n_policies; policy++) {
		for (unsigned seed = 0; seed < plan->n_seeds; seed++) {
			if (!plan->is_steady)
				fill(plan, policy, seed);
			for (unsigned i = 0; plan->is_steady && i < plan->n_levels; i++)
				steady(plan, policy, i, seed);
		}
	}
	for (unsigned level = 0; level < plan->n_levels; level++) {
		for (unsigned policy = 0; policy < plan->n_policies; policy++)
			print_outcome(plan, policy, level);
	}
	fflush(stdout);
}

static void read_policies(struct plan *plan, char *list)
{
	char *state = NULL;

	for (char *name = strtok_r(list, ",", &state);
		name && plan->n_policies < POLICIES_MAX;
		name = strtok_r(NULL, ",", &state)) {
		const struct clv_place_policy *policy = clv_place_policy_find(name);

		if (strcmp(name, place_published_fgd.name) == 0)
			policy = &place_published_fgd;
		if (!policy)
			place_die("there is no policy of that name");
		plan->policies[plan->n_policies++] = policy;
	}
}

static void read_mode(struct plan *plan, const char *mode)
{
	plan->is_steady = strcmp(mode, "steady") == 0;
	plan->levels = plan->is_steady ? loads : fills;
	plan->n_levels = plan->is_steady ? CLV_ARRAY_SIZE(loads) : CLV_ARRAY_SIZE(fills);
}

int main(int argc, char **argv)
{
	struct place_input input = {0}, other = {0};
	struct plan plan = {.input = &input, .learned = &input.workload};

	if (argc != 7 && argc != 8) {
		fprintf(stderr,
			"usage: place-load NODES TRACE fill|steady POLICY,... "
			"FIRST_SEED SEEDS [LEARNED]\n"
			"       place-load drawn SEED fill|steady POLICY,... ...\n");
		return 64;
	}
	if (strcmp(argv[1], "drawn") == 0)
		place_input_draw(strtoull(argv[2], NULL, 10), &input);
	else
		place_input_read(argv[1], argv[2], &input);
	plan.name = strrchr(argv[2], '/') ? strrchr(argv[2], '/') + 1 : argv[2];
	place_published_begin(strcmp(argv[1], "drawn") == 0 ? NULL : argv[2], &input);
	read_mode(&plan, argv[3]);
	read_policies(&plan, argv[4]);
	plan.first_seed = strtoull(argv[5], NULL, 10);
	plan.n_seeds = (unsigned)strtoul(argv[6], NULL, 10);
	if (plan.n_seeds == 0 || plan.n_seeds > SEEDS_MAX || plan.n_policies == 0)
		place_die("a number of seeds from 1 to 64, please");
	if (argc == 8) {
		place_input_read_trace(argv[7], input.fleet, &other);
		plan.learned = &other.workload;
	}
	run(&plan);
	place_input_done(&input);
	place_input_done(&other);
	return 0;
}
