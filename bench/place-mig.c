/* SPDX-License-Identifier: Apache-2.0 */
/* Online placement of MIG instances: a hundred GPUs of 80 GB, one arrival per slot from a
 * given mix, uniform lifetimes, acceptance over the last 4,000 of 6,000 slots.  Prints
 * one JSON object for each mix and method of placement, at one load, over a number of
 * seeds. */
#include "base/cleanup.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/gpu/gpu.h"
#include "core/place/admit.h"
#include "core/place/frag.h"
#include "core/place/place.h"
#include "core/place/policy.h"
#include "core/repack/repack.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_GPUS 100
#define N_SLOTS 6000
#define N_WARM 2000
#define SEEDS_MAX 5
#define N_PROFILES 6
#define MOST_TRIES 1000000

/* Untruncated, and of equally good places the GPU with the least free: FGD at its best,
 * because the published truncation costs acceptance on MIG. */
static int32_t score_fine(const struct clv_place_view *view,
	const struct clv_fleet_node *node, const struct clv_place_request *request)
{
	struct clv_frag_option options[CLV_FRAG_OPTIONS_MAX];
	unsigned n = clv_frag_options(view->frag, view->fleet, node, request, options);
	int64_t most = options[0].gain;

	for (unsigned i = 1; i < n; i++)
		most = options[i].gain > most ? options[i].gain : most;
	most = most * 100 / clv_frag_weight(view->frag);
	return (int32_t)(most * 1024 - node->free_milli);
}

static const struct clv_place_policy fgd_fine = {
	.name = "fgd-fine",
	.help = "fgd without truncation",
	.score = score_fine,
	.choose = clv_place_choose_balance,
	.is_learned = true,
};

/* clang-format off */
static const char *const profiles[N_PROFILES] = {
	"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"};
static const struct { const char *name; unsigned parts[N_PROFILES]; } mixes[] = {
	{"uniform",    {10, 10, 10, 10, 10, 10}},
	{"skew-small", {30, 25, 20, 10, 10, 5}},
	{"skew-big",   {5, 10, 10, 20, 25, 30}},
	{"bimodal",    {30, 15, 5, 5, 15, 30}},
};
/* "pool": units of the grids count, and their places do not. */
static const struct { const char *name; bool has_all_ways; } policies[] = {
	{"first-fit", false}, {"best-fit", false}, {"fgd", true}, {"fgd-fine", true},
	{"balance", true}, {"pool", true}};
static const struct way { const char *suffix; unsigned most_moves; bool has_admit; } ways[] = {
	{"",             0, false},
	{"-moves",       2, false},
	{"-admit",       0, true},
	{"-admit-moves", 2, true},
};
/* clang-format on */

struct tally {
	uint64_t arrived, accepted, moved;
	double held;
};

struct world {
	struct clv_fleet *fleet;
	struct clv_placer *placer;
	struct clv_admit admit;
	int64_t *ends; /* by lease: the slot in which it ends; 0: no such lease */
	uint32_t n_ends;
	bool is_pool;
	uint32_t *sizes;       /* of a pool: by lease, in thousandths of a GPU */
	struct clv_fleet pool; /* its sums alone */
	struct tally tally;
};

static uint64_t random_state;

static double random_part(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / (double)(UINT64_C(1) << 53);
}

static void must(bool good)
{
	if (good)
		return;
	fprintf(stderr, "place-mig: out of memory, or not what was expected\n");
	exit(1);
}

static struct clv_place_request request_of(
	const struct clv_fleet *fleet, unsigned profile)
{
	int found =
		clv_mig_profile_find(fleet->schemes[0].model, profiles[profile], NULL);

	must(found >= 0);
	return (struct clv_place_request){
		.n_devices = 1, .scheme = 1, .profile = (uint8_t)(found + 1)};
}

static const struct clv_place_policy *policy_of(const char *name)
{
	if (strcmp(name, fgd_fine.name) == 0)
		return &fgd_fine;
	return clv_place_policy_find(strcmp(name, "pool") == 0 ? "first-fit" : name);
}

static void world_begin(struct world *world, const unsigned *parts, const char *policy)
{
	struct clv_fleet_scheme scheme = {.model = clv_mig_model_find("A100-80GB")};
	struct clv_workload workload = {0};

	*world = (struct world){.fleet = clv_fleet_new()};
	must(world->fleet && scheme.model &&
		clv_fleet_add_scheme(world->fleet, &scheme) == 0);
	for (unsigned i = 0; i < N_GPUS; i++)
		must(clv_fleet_add_node(world->fleet,
			     &(struct clv_fleet_node_spec){
				     .model = "A100", .n_devices = 1, .scheme = 1},
			     NULL) == 0);
	for (unsigned i = 0; i < N_PROFILES; i++) {
		struct clv_place_request request = request_of(world->fleet, i);

		must(clv_workload_add(&workload, &request, parts[i]) == 0);
	}
	clv_workload_cut(&workload, 100);
	must(clv_placer_new(world->fleet, policy_of(policy), &workload, NULL,
		     &world->placer, NULL) == 0);
	world->is_pool = strcmp(policy, "pool") == 0;
	world->pool.milli = world->fleet->milli;
	clv_workload_done(&workload);
	world->n_ends = N_GPUS * 16;
	world->ends = calloc(world->n_ends, sizeof(*world->ends));
	world->sizes = calloc(world->n_ends, sizeof(*world->sizes));
	must(world->ends && world->sizes);
}

static void world_end(struct world *world)
{
	clv_placer_free(world->placer);
	clv_fleet_free(world->fleet);
	free(world->ends);
	free(world->sizes);
}

static const struct clv_fleet *fleet_of(const struct world *world)
{
	return world->is_pool ? &world->pool : world->fleet;
}

static void depart(struct world *world, int64_t now)
{
	for (uint32_t i = 0; i < world->n_ends; i++) {
		if (world->ends[i] > 0 && world->ends[i] <= now) {
			if (world->is_pool)
				world->pool.held_milli -= world->sizes[i];
			else
				must(clv_fleet_release(world->fleet, i) == 0);
			world->ends[i] = 0;
		}
	}
}

/* A lease that was moved keeps its end. */
static void follow_moves(struct world *world, const struct clv_repack_plan *before,
	const struct clv_repack_plan *after)
{
	int64_t ends[CLV_REPACK_MOVES_MAX];

	for (unsigned i = 0; i < before->n_moves; i++) {
		ends[i] = world->ends[before->moves[i].lease];
		world->ends[before->moves[i].lease] = 0;
	}
	for (unsigned i = 0; i < after->n_moves; i++)
		world->ends[after->moves[i].lease] = ends[i];
	world->tally.moved += after->n_moves;
}

static int place(struct world *world, const struct way *way,
	const struct clv_place_request *request, uint32_t *ret_lease)
{
	uint64_t tries = MOST_TRIES;
	struct clv_repack_options options = {
		.most_moves = way->most_moves, .tries_left = &tries};
	struct clv_repack_plan plan, done;
	int r = clv_placer_place(world->placer, request, ret_lease);

	if (r != -ENOSPC || way->most_moves == 0)
		return r;
	r = clv_repack_find(world->fleet, world->placer, request, &options, &plan);
	if (r < 0)
		return r;
	done = plan;
	r = clv_repack_apply(world->fleet, request, &done, ret_lease);
	if (r == 0)
		follow_moves(world, &plan, &done);
	return r;
}

static int place_in_pool(struct world *world, uint32_t milli, uint32_t *ret_lease)
{
	uint32_t lease = 0;

	if (world->pool.held_milli + milli > world->pool.milli)
		return -ENOSPC;
	while (world->ends[lease] > 0)
		lease++;
	world->pool.held_milli += milli;
	world->sizes[lease] = milli;
	*ret_lease = lease;
	return 0;
}

static void arrive(struct world *world, const struct way *way, unsigned profile,
	int64_t now, int64_t life)
{
	struct clv_place_request request = request_of(world->fleet, profile);
	uint32_t milli = clv_fleet_request_milli(world->fleet, &request), lease;
	bool is_taken = false;

	clv_admit_record(&world->admit, milli, life);
	if (!way->has_admit ||
		clv_admit_is_worth(&world->admit, fleet_of(world), milli, life))
		is_taken = (world->is_pool ? place_in_pool(world, milli, &lease)
					   : place(world, way, &request, &lease)) == 0;
	if (is_taken)
		world->ends[lease] = now + life;
	if (now < N_WARM)
		return;
	world->tally.arrived++;
	world->tally.accepted += is_taken;
	world->tally.held +=
		(double)fleet_of(world)->held_milli / (double)world->fleet->milli;
}

static void run(
	struct world *world, const struct way *way, const unsigned *parts, double load)
{
	double size = 0, all = 0, mean_life;

	for (unsigned i = 0; i < N_PROFILES; i++) {
		struct clv_place_request request = request_of(world->fleet, i);

		all += parts[i];
		size += parts[i] *
			(double)clv_fleet_request_milli(world->fleet, &request) / 1000;
	}
	mean_life = load * N_GPUS / (size / all);
	for (int64_t now = 0; now < N_SLOTS; now++) {
		double draw = random_part() * all;
		unsigned profile = 0;

		while (profile < N_PROFILES - 1 && draw >= parts[profile])
			draw -= parts[profile++];
		depart(world, now);
		arrive(world, way, profile, now,
			1 + (int64_t)(random_part() * (2 * mean_life - 1)));
	}
}

static void measure(const char *policy, const struct way *way, unsigned mix, double load,
	unsigned n_seeds)
{
	struct tally sum = {0};

	for (unsigned seed = 1; seed <= n_seeds; seed++) {
		struct world world;

		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		world_begin(&world, mixes[mix].parts, policy);
		run(&world, way, mixes[mix].parts, load);
		sum.arrived += world.tally.arrived;
		sum.accepted += world.tally.accepted;
		sum.moved += world.tally.moved;
		sum.held += world.tally.held;
		world_end(&world);
	}
	printf("{\"load\": %.1f, \"mix\": \"%s\", \"way\": \"%s%s\", \"accepted\": %.3f, "
	       "\"held\": %.3f, \"moves_per_hundred\": %.2f}\n",
		load, mixes[mix].name, policy, way->suffix,
		100 * (double)sum.accepted / (double)sum.arrived,
		100 * sum.held / (double)sum.arrived,
		100 * (double)sum.moved / (double)(n_seeds * N_SLOTS));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	double load = argc == 3 ? strtod(argv[1], NULL) : 0;
	unsigned n_seeds = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;

	if (load <= 0 || n_seeds == 0 || n_seeds > SEEDS_MAX) {
		fprintf(stderr, "usage: place-mig LOAD SEEDS (1 to %d)\n", SEEDS_MAX);
		return 64;
	}
	for (unsigned mix = 0; mix < CLV_ARRAY_SIZE(mixes); mix++) {
		for (size_t i = 0; i < CLV_ARRAY_SIZE(policies); i++) {
			size_t n = policies[i].has_all_ways ? CLV_ARRAY_SIZE(ways) : 1;

			for (size_t way = 0; way < n; way++)
				measure(policies[i].name, &ways[way], mix, load, n_seeds);
		}
	}
	return 0;
}
