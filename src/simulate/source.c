/* SPDX-License-Identifier: Apache-2.0 */
/* Arrivals from a CSV file, a list, a generator, or a shuffled trace that fills a
 * fleet. */
#include "simulate/source.h"

#include "base/clock.h"
#include "base/error.h"
#include "core/fleet/fleet.h"
#include "simulate/plan-file.h"
#include "simulate/trace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct clv_source {
	int (*next)(struct clv_source *source, struct clv_trace_item *ret,
		struct clv_error *err);
	const struct clv_fleet *fleet;
	struct clv_source_options options;
	uint64_t random_state;
	/* A CSV. */
	FILE *file;
	struct clv_trace csv;
	/* YAML: the position in the list, and how many arrivals of the entry were
	 * returned. */
	struct clv_plan_trace plan;
	size_t at;
	uint64_t n_told;
	double now_s; /* time of the generator */
	/* A gang in YAML: the item that is repeated, and how often. */
	struct clv_trace_item member;
	uint64_t n_members_left;
	uint32_t last_gang;
	/* Filling: the whole trace in random order. */
	struct clv_trace_item *items;
	size_t n_items;
	uint64_t filled_milli;
};

/* splitmix64 */
static uint64_t draw(struct clv_source *source)
{
	uint64_t x = source->random_state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Uniform in [0, 1). */
static double draw_part(struct clv_source *source)
{
	return (double)(draw(source) >> 11) / (double)(UINT64_C(1) << 53);
}

static int next_of_csv(
	struct clv_source *source, struct clv_trace_item *ret, struct clv_error *err)
{
	return clv_trace_next(&source->csv, ret, err);
}

static struct clv_trace_item item_of(const struct clv_plan_entry *entry)
{
	return (struct clv_trace_item){
		.request = entry->request,
		.arrives_s = (int64_t)(entry->at_ns / CLV_NS_PER_S),
		.stays_s = entry->for_ns ? (int64_t)(entry->for_ns / CLV_NS_PER_S)
					 : CLV_TRACE_FOREVER,
		.is_of_no_model = entry->is_of_no_model,
	};
}

/* Makes the item the first of a gang; clv_source_next() repeats it for the others. */
static void begin_gang(struct clv_source *source, const struct clv_plan_entry *entry,
	struct clv_trace_item *item)
{
	if (entry->n_gang == 0)
		return;
	item->gang = ++source->last_gang;
	source->member = *item;
	source->n_members_left = entry->n_gang - 1;
}

static int next_of_list(
	struct clv_source *source, struct clv_trace_item *ret, struct clv_error *err)
{
	(void)err;
	while (source->at < source->plan.n_entries) {
		const struct clv_plan_entry *entry = &source->plan.entries[source->at];

		if (source->n_told < entry->count) {
			source->n_told++;
			*ret = item_of(entry);
			begin_gang(source, entry, ret);
			return 1;
		}
		source->n_told = 0;
		source->at++;
	}
	return 0;
}

static int64_t draw_life(struct clv_source *source)
{
	double mean_s = (double)source->plan.mean_life_ns / (double)CLV_NS_PER_S;

	if (mean_s <= 0)
		return CLV_TRACE_FOREVER;
	if (source->plan.life == CLV_PLAN_UNIFORM)
		mean_s *= 2 * draw_part(source);
	else if (source->plan.life == CLV_PLAN_EXPONENTIAL)
		mean_s *= -log1p(-draw_part(source));
	return (int64_t)ceil(mean_s);
}

/* A Poisson process: the time to the next arrival is exponential. */
static int next_of_mix(
	struct clv_source *source, struct clv_trace_item *ret, struct clv_error *err)
{
	const struct clv_plan_trace *plan = &source->plan;
	uint64_t weight = 0, left;
	size_t i = 0;

	(void)err;
	source->now_s += -log1p(-draw_part(source)) * 3600 / plan->per_hour;
	if (source->now_s * (double)CLV_NS_PER_S > (double)plan->until_ns)
		return 0;
	for (size_t k = 0; k < plan->n_entries; k++)
		weight += plan->entries[k].count;
	if (weight == 0)
		return 0;
	left = draw(source) % weight;
	while (left >= plan->entries[i].count)
		left -= plan->entries[i++].count;
	*ret = item_of(&plan->entries[i]);
	ret->arrives_s = (int64_t)source->now_s;
	ret->stays_s = draw_life(source);
	begin_gang(source, &plan->entries[i], ret);
	return 1;
}

static int next_of_fill(
	struct clv_source *source, struct clv_trace_item *ret, struct clv_error *err)
{
	uint64_t wanted = source->fleet->milli / 1000 * source->options.fill_milli;

	(void)err;
	if (source->n_items == 0 || source->filled_milli >= wanted)
		return 0;
	*ret = source->at < source->n_items
		       ? source->items[source->at++]
		       : source->items[draw(source) % source->n_items];
	source->filled_milli += clv_fleet_request_milli(source->fleet, &ret->request);
	/* A trace without devices would never reach the limit. */
	if (source->filled_milli == 0 && source->at == source->n_items)
		return 0;
	return 1;
}

/* Reads all arrivals of the source and shuffles them by the seed. */
static int gather(struct clv_source *source, struct clv_error *err)
{
	size_t room = 0;
	int r;

	for (;;) {
		struct clv_trace_item item;

		r = source->next(source, &item, err);
		if (r <= 0)
			break;
		if (item.gang)
			return clv_error_set(err, -EINVAL,
				"a fleet is filled up with single requests: the trace "
				"has "
				"gangs");
		if (source->n_items == room) {
			struct clv_trace_item *grown;

			room = room ? 2 * room : 1024;
			grown = reallocarray(source->items, room, sizeof(*grown));
			if (!grown)
				return clv_error_errno(
					err, ENOMEM, "cannot read the trace");
			source->items = grown;
		}
		source->items[source->n_items++] = item;
	}
	for (size_t i = source->n_items; i > 1; i--) {
		size_t other = draw(source) % i;
		struct clv_trace_item swap = source->items[i - 1];

		source->items[i - 1] = source->items[other];
		source->items[other] = swap;
	}
	source->at = 0;
	source->next = next_of_fill;
	return r;
}

static bool is_csv(const char *path)
{
	size_t length = strlen(path);

	return length > 4 && strcmp(path + length - 4, ".csv") == 0;
}

int clv_source_read_fleet(
	const char *path, struct clv_fleet *fleet, struct clv_error *err)
{
	FILE *file;
	int r;

	if (!is_csv(path))
		return clv_plan_read_fleet(path, fleet, err);
	file = fopen(path, "re");
	if (!file)
		return clv_error_errno(err, errno, "%.200s", path);
	r = clv_trace_read_fleet(file, path, fleet, err);
	fclose(file);
	return r;
}

static int open_csv(struct clv_source *source, const char *path, struct clv_error *err)
{
	int r;

	source->file = fopen(path, "re");
	if (!source->file)
		return clv_error_errno(err, errno, "%.200s", path);
	r = clv_trace_begin(&source->csv, source->file, path, source->fleet, err);
	source->csv.is_timed = source->options.is_timed;
	source->csv.was_read = source->options.was_read;
	source->next = next_of_csv;
	return r;
}

static int open_plan(struct clv_source *source, const char *path, struct clv_error *err)
{
	int r = clv_plan_read_trace(path, source->fleet, &source->plan, err);

	source->next = source->plan.per_hour > 0 ? next_of_mix : next_of_list;
	if (r == 0 && source->plan.n_placed > 0 && !source->options.has_placed)
		return clv_error_set(err, -EINVAL,
			"%.200s: 'placed' is for cleave fit and cleave defrag only",
			path);
	return r;
}

int clv_source_open(const char *path, const struct clv_fleet *fleet,
	const struct clv_source_options *options, struct clv_source **ret,
	struct clv_error *err)
{
	struct clv_source *source = calloc(1, sizeof(*source));
	int r;

	if (!source)
		return clv_error_errno(err, ENOMEM, "%.200s", path);
	source->fleet = fleet;
	source->options = *options;
	source->random_state = options->seed;
	r = is_csv(path) ? open_csv(source, path, err) : open_plan(source, path, err);
	if (r == 0 && options->fill_milli > 0)
		r = gather(source, err);
	if (r < 0) {
		clv_source_close(source);
		return r;
	}
	*ret = source;
	return 0;
}

bool clv_source_is_timed(const struct clv_source *source)
{
	return source->options.is_timed ||
	       (source->plan.per_hour > 0 && source->options.fill_milli == 0);
}

int clv_source_take_placed(
	struct clv_source *source, struct clv_fleet *fleet, struct clv_error *err)
{
	return clv_plan_take_placed(&source->plan, fleet, NULL, NULL, err);
}

int clv_source_next(
	struct clv_source *source, struct clv_trace_item *ret, struct clv_error *err)
{
	if (source->n_members_left == 0)
		return source->next(source, ret, err);
	source->n_members_left--;
	*ret = source->member;
	return 1;
}

struct clv_source *clv_source_close(struct clv_source *source)
{
	if (!source)
		return NULL;
	if (source->file) {
		clv_trace_end(&source->csv);
		fclose(source->file);
	}
	clv_plan_trace_done(&source->plan);
	free(source->items);
	free(source);
	return NULL;
}
