/* SPDX-License-Identifier: Apache-2.0 */
/* A CPU device in sets of processors.  Any processors will do for a set, so room is a
 * matter of counting; the lowest free ones are taken. */
#include "core/plan-internal.h"

#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cores_plan {
	struct clv_planner *planner;
	struct clv_planned at;
	bool *is_taken;  /* by index in cores.ids, after the steps so far */
	bool *is_wanted; /* by index in device->partitions */
};

/* "0-1,4" into marks.  What the device does not have is passed over. */
static void mark(const struct clv_cores_state *cores, const char *list, bool *ret)
{
	const char *text = list;

	while (*text >= '0' && *text <= '9') {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (uint32_t i = 0; i < cores->total; i++) {
			if (cores->ids[i] >= first && cores->ids[i] <= last)
				ret[i] = true;
		}
		text = *end == ',' ? end + 1 : end;
	}
}

static uint32_t count_free(const struct cores_plan *p, uint32_t from)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->at.device->cores.total; i++)
		n += !p->is_taken[i] && p->at.device->cores.ids[i] >= from;
	return n;
}

/* Takes the lowest free ones from a number on and writes them as a list.  Returns the
 * lowest; there must be enough. */
static uint32_t take(
	struct cores_plan *p, uint32_t from, uint32_t size, char *ret, size_t ret_bytes)
{
	const struct clv_cores_state *cores = &p->at.device->cores;
	uint32_t lowest = UINT32_MAX;
	size_t used = 0;

	for (uint32_t i = 0; i < cores->total && size > 0; i++) {
		uint32_t first = i;

		if (p->is_taken[i] || cores->ids[i] < from)
			continue;
		while (i < cores->total && !p->is_taken[i] && size > 0 &&
			cores->ids[i] == cores->ids[first] + (i - first)) {
			p->is_taken[i++] = true;
			size--;
		}
		i--;
		if (lowest == UINT32_MAX)
			lowest = cores->ids[first];
		if (used < ret_bytes)
			used += (size_t)snprintf(ret + used, ret_bytes - used,
				first == i ? "%s%u" : "%s%u-%u", used ? "," : "",
				cores->ids[first], cores->ids[i]);
	}
	return lowest;
}

static int read_size(
	struct cores_plan *p, const struct clv_layout_partition *wanted, uint32_t *ret)
{
	unsigned long size;
	char *end;

	size = strtoul(wanted->profile + strlen("cores:"), &end, 10);
	if (*end != '\0' || size < 1 || size > p->at.device->cores.total)
		return clv_planner_fail(p->planner, p->at, wanted->line, -EINVAL,
			"'%s' is no part of it: cores:1 to cores:%" PRIu32,
			wanted->profile, p->at.device->cores.total);
	if (wanted->n_parts > 0)
		return clv_planner_fail(p->planner, p->at, wanted->line, -EINVAL,
			"parts are for MIG instances: use shares");
	*ret = (uint32_t)size;
	return 0;
}

/* The next one of this profile, at this place if one is said, that nothing has claimed:
 * one that is held before one that is not. */
static struct clv_partition *claim(
	struct cores_plan *p, const char *profile, int64_t start)
{
	const struct clv_node_device *device = p->at.device;
	int best = -1;

	for (size_t i = 0; i < device->n_partitions; i++) {
		const struct clv_partition *partition = &device->partitions[i];

		if (p->is_wanted[i] || strcmp(partition->profile, profile) != 0 ||
			(start >= 0 && partition->start != start))
			continue;
		if (best < 0 ||
			(clv_partition_is_held(partition) &&
				!clv_partition_is_held(&device->partitions[best])))
			best = (int)i;
	}
	if (best < 0)
		return NULL;
	p->is_wanted[best] = true;
	return &device->partitions[best];
}

static void keep_one(struct cores_plan *p, const struct clv_layout_partition *wanted,
	const struct clv_partition *partition)
{
	clv_planner_keep(p->planner, partition->name);
	clv_planner_share(p->planner, p->at.index, partition->name, &wanted->shares);
}

/* How many of it have to be made. */
static uint32_t keep(struct cores_plan *p, const struct clv_layout_partition *wanted)
{
	uint32_t n = wanted->count + (uint32_t)wanted->n_starts, n_kept = 0;
	const struct clv_partition *partition;

	for (size_t i = 0; i < wanted->n_starts; i++) {
		partition = claim(p, wanted->profile, wanted->starts[i]);
		n_kept += partition != NULL;
		if (partition)
			keep_one(p, wanted, partition);
	}
	for (uint32_t i = 0; i < wanted->count; i++) {
		partition = claim(p, wanted->profile, -1);
		n_kept += partition != NULL;
		if (partition)
			keep_one(p, wanted, partition);
	}
	return n - n_kept;
}

static void destroy_rest(struct cores_plan *p)
{
	const struct clv_node_device *device = p->at.device;

	for (size_t i = 0; i < device->n_partitions; i++) {
		const struct clv_partition *partition = &device->partitions[i];
		struct clv_step *step;

		if (p->is_wanted[i] || p->at.rule->preserve) {
			if (!p->is_wanted[i])
				clv_planner_keep(p->planner, partition->name);
			mark(&device->cores, partition->address, p->is_taken);
			continue;
		}
		clv_planner_block(p->planner, p->at.index, partition->name,
			&partition->holders, "the layout does not have it");
		step = clv_planner_step(p->planner, CLV_STEP_DESTROY, p->at.index);
		snprintf(step->partition, sizeof(step->partition), "%s", partition->name);
		snprintf(step->profile, sizeof(step->profile), "%s", partition->profile);
		step->start = partition->start;
		step->size = partition->size;
	}
}

static void create_one(struct cores_plan *p, const struct clv_layout_partition *wanted,
	uint32_t size, uint32_t from)
{
	struct clv_step *step =
		clv_planner_step(p->planner, CLV_STEP_CREATE, p->at.index);

	step->start = take(p, from, size, step->cpus, sizeof(step->cpus));
	step->size = size;
	snprintf(step->profile, sizeof(step->profile), "%s", wanted->profile);
	clv_partition_make_name(
		p->at.device->info.name, wanted->profile, step->start, step->partition);
	snprintf(step->why, sizeof(step->why), "the lowest that are free");
	clv_planner_share(p->planner, p->at.index, step->partition, &wanted->shares);
}

static bool is_there(const struct cores_plan *p,
	const struct clv_layout_partition *wanted, uint32_t start)
{
	for (size_t i = 0; i < p->at.device->n_partitions; i++) {
		const struct clv_partition *partition = &p->at.device->partitions[i];

		if (p->is_wanted[i] && partition->start == start &&
			strcmp(partition->profile, wanted->profile) == 0)
			return true;
	}
	return false;
}

/* Where it is said where. */
static int create_placed(struct cores_plan *p, const struct clv_layout_partition *wanted,
	uint32_t size, uint32_t *missing)
{
	for (size_t i = 0; i < wanted->n_starts; i++) {
		uint32_t start = wanted->starts[i];

		if (is_there(p, wanted, start))
			continue;
		if (count_free(p, start) - count_free(p, start + 1) != 1 ||
			count_free(p, start) < size)
			return clv_planner_fail(p->planner, p->at, wanted->line, -ENOSPC,
				"%s does not fit at processor %" PRIu32, wanted->profile,
				start);
		create_one(p, wanted, size, start);
		(*missing)--;
	}
	return 0;
}

static int create(struct cores_plan *p, const struct clv_layout_partition *wanted,
	uint32_t size, uint32_t missing)
{
	int r = create_placed(p, wanted, size, &missing);
	uint32_t n_free = count_free(p, 0);

	if (r < 0)
		return r;
	if (size * (uint64_t)missing > n_free)
		return clv_planner_fail(p->planner, p->at, wanted->line, -ENOSPC,
			"%" PRIu32 " of %s need %" PRIu64 " processors and %" PRIu32
			" are left: it has %" PRIu32,
			missing, wanted->profile, size * (uint64_t)missing, n_free,
			p->at.device->cores.total);
	for (uint32_t i = 0; i < missing; i++)
		create_one(p, wanted, size, 0);
	return 0;
}

static int plan(struct cores_plan *p)
{
	const struct clv_layout_rule *rule = p->at.rule;
	_cleanup_free_ uint32_t *missing =
		calloc(rule->n_partitions + 1, sizeof(*missing));
	_cleanup_free_ uint32_t *sizes = calloc(rule->n_partitions + 1, sizeof(*sizes));
	int r = 0;

	if (!missing || !sizes) {
		p->planner->is_out_of_memory = true;
		return 0;
	}
	for (size_t i = 0; i < rule->n_partitions && r >= 0; i++) {
		r = read_size(p, &rule->partitions[i], &sizes[i]);
		if (r >= 0)
			missing[i] = keep(p, &rule->partitions[i]);
	}
	if (r < 0)
		return r;
	destroy_rest(p);
	/* Whoever has the whole device has the processors of every part. */
	if (rule->n_partitions > 0)
		clv_planner_block(p->planner, p->at.index, "", &p->at.device->holders,
			"it is in use as a whole");
	for (size_t i = 0; i < rule->n_partitions && r >= 0; i++)
		r = create(p, &rule->partitions[i], sizes[i], missing[i]);
	return r;
}

int clv_plan_cores(struct clv_planner *planner, struct clv_planned at)
{
	_cleanup_free_ bool *is_taken = calloc(at.device->cores.total + 1, sizeof(bool));
	_cleanup_free_ bool *is_wanted =
		calloc(at.device->n_partitions + 1, sizeof(bool));
	struct cores_plan p = {planner, at, is_taken, is_wanted};

	if (!is_taken || !is_wanted) {
		planner->is_out_of_memory = true;
		return 0;
	}
	return plan(&p);
}
