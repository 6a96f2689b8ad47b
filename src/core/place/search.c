/* SPDX-License-Identifier: Apache-2.0 */
/* Branch and bound over bitmaps of nodes.  Devices are in levels by what is free on them:
 * the tighter a request fits a device, the less it can strand, so levels are examined
 * from the tightest on, and the search ends at the first whose bound is below the best
 * score. */
#include "core/place/search.h"

#include "base/cleanup.h"
#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"
#include "core/place/policy.h"
#include "core/place/prices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORD 64u
#define N_MEMOS 256
/* In steps of the score: what is near the highest, and what is far from it. */
#define NEAR 2
#define MOST_LESS 512
/* Sets with nodes in so many words are examined in several passes. */
#define MANY_WORDS 128

/* clang-format off */
/* Sets of nodes with at least so much free.  Spare processors are in thousandths of a
 * device, see clv_place_spare(). */
static const uint32_t cpu_sets[] = {
	1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000, 11000, 12000, 14000, 16000,
	18000, 20000, 24000, 32000, 48000, 64000, 96000, 128000};
static const uint32_t memory_sets[] = {
	4096, 8192, 12288, 16384, 20480, 24576, 32768, 40960, 49152, 57344, 65536, 81920, 98304,
	131072, 196608, 262144, 524288};
static const int32_t spare_sets[] = {
	-8000, -4000, -3000, -2000, -1500, -1000, -800, -600, -400, -300, -200, -100, 0,
	100, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000, 4000, 8000};
/* clang-format on */

/* The last level is of wholly free devices. */
#define N_LEVELS 26u
#define LEVEL_MILLI (CLV_PLACE_WHOLE / (N_LEVELS - 1))

/* Sets by number.  Lost nodes are in none, idle ones (without leases, with a set of their
 * state) in those of their state and others, but not in the one of busy nodes. */
enum {
	BUSY,
	LEVELS,
	CPU = LEVELS + N_LEVELS,
	MEMORY = CPU + CLV_ARRAY_SIZE(cpu_sets),
	SPARE = MEMORY + CLV_ARRAY_SIZE(memory_sets),
	IDLE = SPARE + CLV_ARRAY_SIZE(spare_sets),
	N_SETS = IDLE + CLV_SEARCH_IDLE_MAX,
};

/* A search for one request. */
struct run {
	struct clv_search *search;
	const struct clv_place_view *view;
	const struct clv_place_policy *policy;
	const struct clv_place_request *shape;
	uint32_t best;
	int32_t best_score;
	/* Scores by node state. */
	uint64_t states[N_MEMOS];
	int32_t scores[N_MEMOS];
};

/* The nodes that a search has to examine: those of the set (or the others, if it is
 * flipped) in the words before the end. */
struct filter {
	const uint64_t *set;
	uint64_t flip;
	uint32_t end;
};

static uint32_t words_of(const struct clv_fleet *fleet)
{
	return (fleet->n_nodes + WORD - 1) / WORD;
}

size_t clv_search_bytes(const struct clv_fleet *fleet)
{
	return (size_t)words_of(fleet) * (N_SETS + 1) * sizeof(uint64_t);
}

int clv_search_init(struct clv_search *search, const struct clv_fleet *fleet)
{
	*search = (struct clv_search){.n_words = words_of(fleet)};
	search->sets =
		calloc((size_t)search->n_words * N_SETS + 1, sizeof(*search->sets));
	search->left = calloc((size_t)search->n_words + 1, sizeof(*search->left));
	if (search->sets && search->left)
		return 0;
	clv_search_done(search);
	return -ENOMEM;
}

void clv_search_done(struct clv_search *search)
{
	free(search->sets);
	free(search->left);
	*search = (struct clv_search){0};
}

static uint64_t *set_of(const struct clv_search *search, unsigned set)
{
	return &search->sets[(size_t)set * search->n_words];
}

static void put(struct clv_search *search, unsigned set, uint32_t node, bool is_in)
{
	uint64_t *word = &set_of(search, set)[node / WORD];

	*word = (*word & ~(UINT64_C(1) << node % WORD)) | (uint64_t)is_in << node % WORD;
}

static unsigned level_of(uint32_t milli)
{
	return milli / LEVEL_MILLI;
}

/* The levels of the devices of a node that are divided into shares, as bits. */
static uint32_t levels_on(
	const struct clv_fleet *fleet, const struct clv_fleet_node *node)
{
	uint32_t levels = 0;

	for (uint32_t i = 0; i < node->n_devices; i++) {
		const struct clv_fleet_device *device =
			&fleet->devices[node->first_device + i];

		if (device->scheme == 0 && device->free_milli > 0)
			levels |= 1u << level_of(device->free_milli);
	}
	return levels;
}

/* The set of the node's state, counted from IDLE; CLV_SEARCH_IDLE_MAX if it has none. */
static unsigned idle_set(struct clv_search *search, const struct clv_fleet_node *node)
{
	unsigned i = 0;

	if (node->first_lease != CLV_FLEET_NONE || node->is_lost)
		return CLV_SEARCH_IDLE_MAX;
	while (i < search->n_idle && search->idle[i] != node->state)
		i++;
	if (i == search->n_idle && i < CLV_SEARCH_IDLE_MAX)
		search->idle[search->n_idle++] = node->state;
	return i;
}

static void put_node(
	struct clv_search *search, const struct clv_place_view *view, uint32_t number)
{
	const struct clv_fleet_node *node = &view->fleet->nodes[number];
	uint32_t levels = levels_on(view->fleet, node);
	int64_t spare = clv_place_spare(view, node);
	unsigned idle = idle_set(search, node);

	put(search, BUSY, number, !node->is_lost && idle == CLV_SEARCH_IDLE_MAX);
	for (unsigned i = 0; i < N_LEVELS; i++)
		put(search, LEVELS + i, number, levels >> i & 1);
	for (unsigned i = 0; i < CLV_ARRAY_SIZE(cpu_sets); i++)
		put(search, CPU + i, number, node->free_cpu_milli >= cpu_sets[i]);
	for (unsigned i = 0; i < CLV_ARRAY_SIZE(memory_sets); i++)
		put(search, MEMORY + i, number, node->free_memory_mib >= memory_sets[i]);
	for (unsigned i = 0; i < CLV_ARRAY_SIZE(spare_sets); i++)
		put(search, SPARE + i, number, spare >= spare_sets[i]);
	for (unsigned i = 0; i < CLV_SEARCH_IDLE_MAX; i++)
		put(search, IDLE + i, number, i == idle);
	if (idle < CLV_SEARCH_IDLE_MAX && number / WORD < search->first[idle])
		search->first[idle] = number / WORD;
}

static void update(struct clv_search *search, const struct clv_place_view *view)
{
	const struct clv_fleet_log *log = &view->fleet->log;

	if (!search->is_filled ||
		search->cpu_per_device != view->prices->cpu_per_device ||
		log->n_changes - search->n_seen > log->mask) {
		search->cpu_per_device = view->prices->cpu_per_device;
		for (uint32_t i = 0; i < view->fleet->n_nodes; i++)
			put_node(search, view, i);
		search->is_filled = true;
	} else {
		for (uint64_t i = search->n_seen; i < log->n_changes; i++) {
			uint32_t node = log->nodes[i & log->mask];

			if (log->last[node] == i)
				put_node(search, view, node);
		}
	}
	search->n_seen = log->n_changes;
}

static int32_t score_of(struct run *run, const struct clv_fleet_node *node)
{
	unsigned slot = node->state % N_MEMOS;

	if (run->states[slot] != node->state) {
		run->states[slot] = node->state;
		run->scores[slot] = run->policy->score(run->view, node, run->shape);
	}
	return run->scores[slot];
}

/* Whether a node with that score would be better than the best so far. */
static bool is_better(const struct run *run, int32_t score, uint32_t node)
{
	return run->best == CLV_FLEET_NONE || score > run->best_score ||
	       (score == run->best_score && node < run->best);
}

/* Returns whether the node is the best so far. */
static bool examine(struct run *run, uint32_t number, uint32_t least_milli)
{
	const struct clv_fleet_node *node = &run->view->fleet->nodes[number];
	int32_t score;

	if (!clv_fit_node(run->view->fleet, node, run->shape) ||
		!is_better(run,
			run->policy->bound(run->view, node, run->shape, least_milli),
			number))
		return false;
	score = score_of(run, node);
	if (!is_better(run, score, number))
		return false;
	run->best = number;
	run->best_score = score;
	return true;
}

static void examine_idle(struct run *run)
{
	struct clv_search *search = run->search;

	for (unsigned i = 0; i < search->n_idle; i++) {
		const uint64_t *set = set_of(search, IDLE + i);
		uint32_t word = search->first[i];

		while (word < search->n_words && set[word] == 0)
			word++;
		search->first[i] = word;
		if (word < search->n_words)
			examine(run, word * WORD + (uint32_t)__builtin_ctzll(set[word]),
				0);
	}
}

/* The sets by which nodes are left out that cannot have the score. */
static void filter_spare(
	struct run *run, struct filter *filter, const struct clv_place_need *need)
{
	for (unsigned i = 0; i < CLV_ARRAY_SIZE(spare_sets); i++) {
		if (spare_sets[i] <= need->least_spare)
			filter->set = set_of(run->search, SPARE + i);
	}
	for (unsigned i = CLV_ARRAY_SIZE(spare_sets); i-- > 0;) {
		if (spare_sets[i] <= need->most_spare)
			break;
		filter->set = set_of(run->search, SPARE + i);
		filter->flip = UINT64_MAX;
	}
}

/* For nodes from that word on that can have the score, and are better than the best so
 * far: up to its word those with an equal score, beyond it those with a higher one. */
static struct filter filter_for(
	struct run *run, uint32_t least_milli, int64_t score, uint32_t word)
{
	const struct clv_search *search = run->search;
	struct filter filter = {.set = set_of(search, BUSY), .end = search->n_words};
	bool is_beyond = run->best != CLV_FLEET_NONE && word > run->best / WORD;
	int64_t least = (int64_t)run->best_score + is_beyond;
	struct clv_place_need need = run->policy->need(run->view, run->shape, least_milli,
		(int32_t)(score > least ? score : least));

	if (need.most_score < least)
		filter.end = word;
	else if (run->best != CLV_FLEET_NONE && !is_beyond)
		filter.end = run->best / WORD + 1;
	filter_spare(run, &filter, &need);
	return filter;
}

/* Examines those of the set that are left and can have the score. */
static void examine_for(
	struct run *run, unsigned number, uint32_t least_milli, int64_t score)
{
	const uint64_t *set = set_of(run->search, number);
	struct filter filter = filter_for(run, least_milli, score, 0);

	for (uint32_t i = 0; i < filter.end;) {
		uint64_t in =
			run->search->left[i] & set[i] & (filter.set[i] ^ filter.flip);
		bool is_new = false;

		run->search->left[i] &= ~in;
		for (; in; in &= in - 1) {
			uint32_t node = i * WORD + (uint32_t)__builtin_ctzll(in);

			is_new |= examine(run, node, least_milli);
		}
		i++;
		if (is_new || (i == filter.end && i < run->search->n_words))
			filter = filter_for(run, least_milli, score, i);
	}
}

static uint32_t count_words(const struct clv_search *search, unsigned number)
{
	const uint64_t *set = set_of(search, number);
	uint32_t n = 0;

	for (uint32_t i = 0; i < search->n_words; i++)
		n += (search->left[i] & set[i]) != 0;
	return n;
}

/* Examines those of the set that are left.  Where these are many and the best score is
 * far from the highest that is possible, nodes that can have the highest are examined
 * first, then those that can have a little less: the sooner a good one is found, the
 * fewer are examined.  Returns false if no node of the set could be better, nor one of a
 * set of larger devices. */
static bool examine_set(struct run *run, unsigned number, uint32_t least_milli)
{
	int64_t most = run->policy->need(run->view, run->shape, least_milli, INT32_MIN)
			       .most_score;
	uint32_t n_words;

	if (most < run->best_score)
		return false;
	n_words = count_words(run->search, number);
	if (n_words == 0)
		return true;
	for (int64_t less = 0; n_words >= MANY_WORDS && less < MOST_LESS &&
			       most - less > run->best_score + NEAR;
		less = 2 * less + 1)
		examine_for(run, number, least_milli, most - less);
	examine_for(run, number, least_milli, INT32_MIN);
	return true;
}

/* Nodes that have as much as the request needs, by the sets. */
static void begin(struct clv_search *search, const struct clv_place_request *shape)
{
	const uint64_t *busy = set_of(search, BUSY), *cpu = busy, *memory = busy;

	for (unsigned i = 0; i < CLV_ARRAY_SIZE(cpu_sets); i++) {
		if (cpu_sets[i] <= shape->cpu_milli)
			cpu = set_of(search, CPU + i);
	}
	for (unsigned i = 0; i < CLV_ARRAY_SIZE(memory_sets); i++) {
		if (memory_sets[i] <= shape->memory_mib)
			memory = set_of(search, MEMORY + i);
	}
	for (uint32_t i = 0; i < search->n_words; i++)
		search->left[i] = busy[i] & cpu[i] & memory[i];
}

uint32_t clv_search_find(struct clv_search *search, const struct clv_place_view *view,
	const struct clv_place_policy *policy, const struct clv_place_request *shape)
{
	struct run run = {.search = search,
		.view = view,
		.policy = policy,
		.shape = shape,
		.best = CLV_FLEET_NONE,
		.best_score = INT32_MIN};
	bool is_share = shape->n_devices > 0 && !shape->profile && shape->milli > 0;

	update(search, view);
	if (search->n_words == 0)
		return CLV_FLEET_NONE;
	examine_idle(&run);
	begin(search, shape);
	if (!is_share) {
		examine_set(&run, BUSY, 0);
		return run.best;
	}
	for (unsigned i = level_of(shape->milli); i < N_LEVELS; i++) {
		uint32_t least = i * LEVEL_MILLI;

		least = least > shape->milli ? least : shape->milli;
		if (!examine_set(&run, LEVELS + i, least))
			break;
	}
	return run.best;
}
