/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a CPU device into sets of processors.  Any processors will do for a set, so
 * room is a matter of counting; a set with a start has that processor as its lowest.
 * Existing sets stay if possible.  If the others find no room then, planning is repeated
 * with fewer and fewer of those that could also be created elsewhere. */
#include "core/plan/plan-internal.h"

#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANYWHERE (-1)
#define NONE (-1)

/* A wanted set. */
struct wish {
	const struct clv_layout_partition *source;
	uint32_t size;
	int32_t start; /* or ANYWHERE */
	int32_t from;  /* index in device->partitions, or NONE */
	uint32_t lowest;
	char cpus[sizeof(((struct clv_step *)NULL)->cpus)];
};

/* Which existing sets are kept for wishes without a start. */
enum keeping {
	KEEP_ALL,
	KEEP_HELD,
	KEEP_NONE,
	_KEEPING_MAX,
};

struct cores_plan {
	struct clv_planner *planner;
	struct clv_planned at;
	struct wish *wishes;
	size_t n_wishes;
	bool *stays;    /* by index in device->partitions */
	bool *is_taken; /* by index in cores.ids */
};

static const struct clv_partition *partition_at(const struct cores_plan *p, size_t i)
{
	return &p->at.device->partitions[i];
}

/* Marks the processors of a list such as "0-1,4"; skips those that the device does not
 * have.  Returns false if one was marked before. */
static bool mark(const struct clv_cores_state *cores, const char *list, bool *ret)
{
	const char *text = list;
	bool is_new = true;

	while (*text >= '0' && *text <= '9') {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (uint32_t i = 0; i < cores->total; i++) {
			if (cores->ids[i] < first || cores->ids[i] > last)
				continue;
			is_new &= !ret[i];
			ret[i] = true;
		}
		text = *end == ',' ? end + 1 : end;
	}
	return is_new;
}

/* Wishes. */

/* Returns the number of processors, or the error of clv_planner_fail(). */
static int64_t read_size(struct cores_plan *p, const struct clv_layout_partition *source)
{
	int64_t size = clv_planner_number(source->profile + strlen("cores:"));

	if (size < 1 || size > p->at.device->cores.total)
		return clv_planner_fail(p->planner, p->at, source->line, -EINVAL,
			"'%s' is not possible: use cores:1 to cores:%" PRIu32,
			source->profile, p->at.device->cores.total);
	if (source->n_parts > 0)
		return clv_planner_fail(p->planner, p->at, source->line, -EINVAL,
			"parts are for MIG instances: use shares");
	return size;
}

/* The sum was checked: there are at most as many wishes as processors. */
static void add_wishes(
	struct cores_plan *p, const struct clv_layout_partition *source, uint32_t size)
{
	struct wish wish = {
		.source = source, .size = size, .start = ANYWHERE, .from = NONE};

	for (uint32_t i = 0; i < source->count; i++)
		p->wishes[p->n_wishes++] = wish;
	for (size_t i = 0; i < source->n_starts; i++) {
		wish.start = (int32_t)source->starts[i];
		p->wishes[p->n_wishes++] = wish;
	}
}

static int fail_with_sum(
	struct cores_plan *p, const struct clv_layout_partition *source, uint64_t sum)
{
	return clv_planner_fail(p->planner, p->at, source->line, -ENOSPC,
		"the layout wants %" PRIu64 " processors%s and it has %" PRIu32, sum,
		p->at.rule->preserve ? ", including those that are kept," : "",
		p->at.device->cores.total);
}

static int read_wishes(struct cores_plan *p)
{
	const struct clv_layout_rule *rule = p->at.rule;
	uint64_t sum = 0;

	for (size_t i = 0; i < rule->n_partitions; i++) {
		const struct clv_layout_partition *source = &rule->partitions[i];
		int64_t size = read_size(p, source);

		if (size < 0)
			return (int)size;
		sum += (source->count + source->n_starts) * (uint64_t)size;
		if (sum > p->at.device->cores.total)
			return fail_with_sum(p, source, sum);
		add_wishes(p, source, (uint32_t)size);
	}
	return 0;
}

/* Existing sets. */

static bool is_named_before(const struct cores_plan *p, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (strcmp(partition_at(p, k)->name, partition_at(p, i)->name) == 0)
			return true;
	}
	return false;
}

/* A step identifies its set by name, so each set must have a name of its own. */
static int check_sets(struct cores_plan *p)
{
	for (size_t i = 0; i < p->at.device->n_partitions; i++) {
		const struct clv_partition *partition = partition_at(p, i);

		if (!mark(&p->at.device->cores, partition->address, p->is_taken) ||
			is_named_before(p, i))
			return clv_planner_fail(p->planner, p->at, p->at.rule->line,
				-EINVAL,
				"%s exists but is not understood: another has its name "
				"or "
				"some of its processors: destroy it first",
				partition->name);
	}
	return 0;
}

static bool is_same(const struct wish *wish, const struct clv_partition *partition)
{
	return partition->size == wish->size &&
	       strcmp(partition->profile, wish->source->profile) == 0;
}

static void claim(struct cores_plan *p, struct wish *wish, size_t i)
{
	wish->from = (int32_t)i;
	p->stays[i] = true;
}

static void claim_placed(struct cores_plan *p)
{
	for (size_t w = 0; w < p->n_wishes; w++) {
		struct wish *wish = &p->wishes[w];

		for (size_t i = 0; i < p->at.device->n_partitions; i++) {
			const struct clv_partition *partition = partition_at(p, i);

			if (wish->from == NONE && !p->stays[i] &&
				wish->start == (int64_t)partition->start &&
				is_same(wish, partition))
				claim(p, wish, i);
		}
	}
}

/* Whether another wish is to start at a processor of the set. */
static bool holds_wanted_start(const struct cores_plan *p, size_t i)
{
	const struct clv_cores_state *cores = &p->at.device->cores;
	_cleanup_free_ bool *own = calloc(cores->total + 1, sizeof(*own));

	if (!own) {
		p->planner->is_out_of_memory = true;
		return true;
	}
	mark(cores, partition_at(p, i)->address, own);
	for (size_t w = 0; w < p->n_wishes; w++) {
		const struct wish *wish = &p->wishes[w];

		for (uint32_t c = 0; c < cores->total && wish->from == NONE; c++) {
			if (own[c] && cores->ids[c] == wish->start)
				return true;
		}
	}
	return false;
}

/* Called for sets with holders first: they are no obstacle as long as they stay. */
static void claim_anywhere(struct cores_plan *p, bool held)
{
	for (size_t i = 0; i < p->at.device->n_partitions; i++) {
		const struct clv_partition *partition = partition_at(p, i);

		if (p->stays[i] || clv_partition_is_held(partition) != held ||
			holds_wanted_start(p, i))
			continue;
		for (size_t w = 0; w < p->n_wishes && !p->stays[i]; w++) {
			struct wish *wish = &p->wishes[w];

			if (wish->from == NONE && wish->start == ANYWHERE &&
				is_same(wish, partition))
				claim(p, wish, i);
		}
	}
}

static void choose(struct cores_plan *p, enum keeping keeping)
{
	const struct clv_node_device *device = p->at.device;

	for (size_t w = 0; w < p->n_wishes; w++)
		p->wishes[w].from = NONE;
	memset(p->stays, 0, device->n_partitions * sizeof(*p->stays));
	memset(p->is_taken, 0, device->cores.total * sizeof(*p->is_taken));
	claim_placed(p);
	if (keeping < KEEP_NONE)
		claim_anywhere(p, true);
	if (keeping < KEEP_HELD)
		claim_anywhere(p, false);
	for (size_t i = 0; i < device->n_partitions; i++) {
		p->stays[i] |= p->at.rule->preserve;
		if (p->stays[i])
			mark(&device->cores, partition_at(p, i)->address, p->is_taken);
	}
}

/* Placement of the remaining wishes. */

/* The end of a run of at most `most` free processors with consecutive numbers. */
static uint32_t run_of(const struct cores_plan *p, uint32_t first, uint32_t most)
{
	const struct clv_cores_state *cores = &p->at.device->cores;
	uint32_t n = 0;

	while (n < most && first + n < cores->total && !p->is_taken[first + n] &&
		cores->ids[first + n] == cores->ids[first] + n)
		n++;
	return first + n;
}

/* Takes the lowest free processors from the start of the wish on, and writes their list.
 * -ENOSPC: there are not enough; -E2BIG: the list is too long. */
static int take(struct cores_plan *p, struct wish *wish)
{
	const struct clv_cores_state *cores = &p->at.device->cores;
	uint32_t from = wish->start == ANYWHERE ? 0 : (uint32_t)wish->start;
	uint32_t left = wish->size;
	size_t used = 0;

	for (uint32_t i = 0, end; i < cores->total && left > 0; i = end) {
		end = i + 1;
		if (p->is_taken[i] || cores->ids[i] < from)
			continue;
		end = run_of(p, i, left);
		if (used == 0)
			wish->lowest = cores->ids[i];
		used += (size_t)snprintf(wish->cpus + used, sizeof(wish->cpus) - used,
			end == i + 1 ? "%s%u" : "%s%u-%u", used ? "," : "", cores->ids[i],
			cores->ids[end - 1]);
		if (used >= sizeof(wish->cpus))
			return -E2BIG;
		memset(p->is_taken + i, true, end - i);
		left -= end - i;
	}
	return left == 0 ? 0 : -ENOSPC;
}

static int32_t index_of(const struct cores_plan *p, int32_t number)
{
	for (uint32_t i = 0; i < p->at.device->cores.total; i++) {
		if (p->at.device->cores.ids[i] == number)
			return (int32_t)i;
	}
	return NONE;
}

/* Reserves or frees the start of a wish.  -ENOSPC if it is taken. */
static int reserve(struct cores_plan *p, const struct wish *wish, bool is_reserved)
{
	int32_t i = index_of(p, wish->start);

	if (i == NONE || (is_reserved && p->is_taken[i]))
		return -ENOSPC;
	p->is_taken[i] = is_reserved;
	return 0;
}

/* The wish with the highest start below this one.  Wishes are placed from the highest
 * start down, because a processor above that start can serve all others too. */
static struct wish *next_placed(struct cores_plan *p, int32_t below)
{
	struct wish *best = NULL;

	for (size_t i = 0; i < p->n_wishes; i++) {
		struct wish *wish = &p->wishes[i];

		if (wish->from == NONE && wish->start != ANYWHERE &&
			wish->start < below && (!best || wish->start > best->start))
			best = wish;
	}
	return best;
}

/* Wishes with a start first.  *ret_wish is the one that fails. */
static int place_all(struct cores_plan *p, struct wish **ret_wish)
{
	int r = 0;

	for (size_t i = 0; i < p->n_wishes && r >= 0; i++) {
		*ret_wish = &p->wishes[i];
		if ((*ret_wish)->from == NONE && (*ret_wish)->start != ANYWHERE)
			r = reserve(p, *ret_wish, true);
	}
	for (int32_t below = INT32_MAX; r >= 0;) {
		struct wish *wish = next_placed(p, below);

		if (!wish)
			break;
		*ret_wish = wish;
		below = wish->start;
		reserve(p, wish, false);
		r = take(p, wish);
	}
	for (size_t i = 0; i < p->n_wishes && r >= 0; i++) {
		*ret_wish = &p->wishes[i];
		if ((*ret_wish)->from == NONE && (*ret_wish)->start == ANYWHERE)
			r = take(p, *ret_wish);
	}
	return r;
}

static uint64_t sum_up(const struct cores_plan *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->at.device->n_partitions; i++)
		sum += p->stays[i] ? partition_at(p, i)->size : 0;
	for (size_t i = 0; i < p->n_wishes; i++)
		sum += p->wishes[i].from == NONE ? p->wishes[i].size : 0;
	return sum;
}

static int fail_with_place(struct cores_plan *p, const struct wish *wish, int r)
{
	if (r == -E2BIG)
		return clv_planner_fail(p->planner, p->at, wish->source->line, -ENOSPC,
			"the processors that are left for %s are too scattered to be "
			"named: destroy others first",
			wish->source->profile);
	if (wish->start == ANYWHERE)
		return fail_with_sum(p, wish->source, sum_up(p));
	return clv_planner_fail(p->planner, p->at, wish->source->line, -ENOSPC,
		"%s does not fit at processor %" PRId32 ": leave start out",
		wish->source->profile, wish->start);
}

/* Steps. */

static void destroy_rest(struct cores_plan *p)
{
	const char *why = "the layout does not have it";

	for (size_t i = 0; i < p->at.device->n_partitions; i++) {
		const struct clv_partition *partition = partition_at(p, i);
		struct clv_step *step;

		if (p->stays[i]) {
			clv_planner_keep(p->planner, partition->name);
			continue;
		}
		clv_planner_block(p->planner, p->at.index, partition->name,
			&partition->holders, "%s", why);
		step = clv_planner_step(p->planner, CLV_STEP_DESTROY, p->at.index);
		snprintf(step->partition, sizeof(step->partition), "%s", partition->name);
		snprintf(step->profile, sizeof(step->profile), "%s", partition->profile);
		step->start = partition->start;
		step->size = partition->size;
		snprintf(step->why, sizeof(step->why), "%s", why);
	}
}

static void create(struct cores_plan *p, const struct wish *wish)
{
	struct clv_step *step =
		clv_planner_step(p->planner, CLV_STEP_CREATE, p->at.index);

	step->start = wish->lowest;
	step->size = wish->size;
	snprintf(step->cpus, sizeof(step->cpus), "%s", wish->cpus);
	snprintf(step->profile, sizeof(step->profile), "%s", wish->source->profile);
	clv_partition_make_name(p->at.device->info.name, wish->source->profile,
		wish->lowest, step->partition);
	if (wish->start == ANYWHERE)
		snprintf(step->why, sizeof(step->why), "the lowest free processors");
	else
		snprintf(step->why, sizeof(step->why), "placed by line %" PRIu32,
			wish->source->line);
	clv_planner_share(
		p->planner, p->at.index, step->partition, &wish->source->shares);
}

static void add_steps(struct cores_plan *p)
{
	bool is_any_new = false;

	destroy_rest(p);
	for (size_t i = 0; i < p->n_wishes; i++) {
		const struct wish *wish = &p->wishes[i];

		is_any_new |= wish->from == NONE;
		if (wish->from == NONE)
			create(p, wish);
		else
			clv_planner_share(p->planner, p->at.index,
				partition_at(p, (size_t)wish->from)->name,
				&wish->source->shares);
	}
	/* A holder of the whole device uses the processors of every set. */
	if (is_any_new)
		clv_planner_block(p->planner, p->at.index, "", &p->at.device->holders,
			"it is in use as a whole");
}

static int plan(struct cores_plan *p)
{
	struct wish *wish = NULL;
	int r = read_wishes(p);

	if (r >= 0)
		r = check_sets(p);
	if (r < 0)
		return r;
	for (int keeping = KEEP_ALL; keeping < _KEEPING_MAX; keeping++) {
		choose(p, (enum keeping)keeping);
		r = place_all(p, &wish);
		if (r >= 0)
			break;
	}
	if (r < 0)
		return fail_with_place(p, wish, r);
	add_steps(p);
	return 0;
}

int clv_plan_cores(struct clv_planner *planner, struct clv_planned at)
{
	uint32_t total = at.device->cores.total;
	_cleanup_free_ struct wish *wishes = calloc(total + 1, sizeof(*wishes));
	_cleanup_free_ bool *is_taken = calloc(total + 1, sizeof(*is_taken));
	_cleanup_free_ bool *stays = calloc(at.device->n_partitions + 1, sizeof(*stays));
	struct cores_plan p = {planner, at, wishes, 0, stays, is_taken};

	if (!wishes || !is_taken || !stays) {
		planner->is_out_of_memory = true;
		return 0;
	}
	return plan(&p);
}
