/* SPDX-License-Identifier: Apache-2.0 */
/* Arrivals from a CSV file, a list, a generator, or a shuffled trace that fills a
 * fleet. */
#include "simulate/source.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "core/fleet/fleet.h"
#include "simulate/files/plan-file.h"
#include "simulate/files/snapshot.h"
#include "simulate/trace.h"

#include <assert.h>
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
	uint64_t mig_state; /* of its own, so that the arrivals are the same */
	/* A file of rows. */
	FILE *file;
	struct clv_trace rows;
	struct clv_trace_skips skips;
	/* YAML: the position in the list, and how many arrivals of the entry were
	 * returned. */
	struct clv_plan_trace plan;
	size_t at;
	uint64_t n_told;
	double now_s; /* time of the generator */
	/* The item that is repeated, and how often. */
	struct clv_trace_item member;
	uint64_t n_members_left;
	uint32_t last_gang;
	uint32_t told_gang, n_gangs; /* the last one that was returned, and how many */
	/* The whole trace: sorted by arrival, or for filling in random order. */
	struct clv_trace_item *items;
	size_t n_items;
	uint64_t filled_milli;
};

/* splitmix64 */
static uint64_t draw_from(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t draw(struct clv_source *source)
{
	return draw_from(&source->random_state);
}

/* Uniform in [0, 1). */
static double draw_part(struct clv_source *source)
{
	return (double)(draw(source) >> 11) / (double)(UINT64_C(1) << 53);
}

static int next_of_rows(
	struct clv_source *source, struct clv_trace_item *ret, struct clv_error *err)
{
	int r = clv_trace_next(&source->rows, ret, err);

	if (r == 0 && source->options.skips && !source->options.was_read)
		*source->options.skips = source->skips;
	return r;
}

static struct clv_trace_item item_of(const struct clv_plan_entry *entry)
{
	return (struct clv_trace_item){
		.request = entry->request,
		.arrives_s = (int64_t)(entry->at_ns / CLV_NS_PER_S),
		.stays_s = entry->for_ns ? (int64_t)(entry->for_ns / CLV_NS_PER_S)
					 : CLV_TRACE_FOREVER,
		.gang = entry->n_gang > 0,
		.n_alike = entry->n_gang ? (uint32_t)entry->n_gang : 1,
		.priority = entry->priority,
		.is_of_no_model = entry->is_of_no_model,
	};
}

/* Lets an item that stands for several be repeated by clv_source_next(), as a gang unless
 * there are too many. */
static void begin_gang(struct clv_source *source, struct clv_trace_item *item)
{
	bool is_gang = item->n_alike > 1 || (item->gang && !source->file);

	if (!is_gang)
		return;
	item->gang = item->n_alike <= CLV_TRACE_GANG_MAX ? ++source->last_gang : 0;
	source->n_members_left = item->n_alike - 1;
	item->n_alike = 1;
	source->member = *item;
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
	return 1;
}

static int next_of_fill(
	struct clv_source *source, struct clv_trace_item *ret, struct clv_error *err)
{
	uint64_t wanted = source->fleet->milli / 1000 * source->options.fill_milli;

	(void)err;
	assert(source->at <= source->n_items);
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

static int next_of_items(
	struct clv_source *source, struct clv_trace_item *ret, struct clv_error *err)
{
	(void)err;
	if (source->at == source->n_items)
		return 0;
	*ret = source->items[source->at++];
	return 1;
}

/* Reads all arrivals of the source. */
static int gather(struct clv_source *source, struct clv_error *err)
{
	size_t room = 0;
	int r;

	for (;;) {
		struct clv_trace_item item;

		r = source->next(source, &item, err);
		if (r <= 0)
			break;
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
	source->at = 0;
	return r;
}

/* For filling: shuffles the arrivals by the seed. */
static int shuffle(struct clv_source *source, struct clv_error *err)
{
	int r = gather(source, err);

	for (size_t i = 0; r == 0 && i < source->n_items; i++) {
		if (source->items[i].gang || source->items[i].n_alike > 1)
			return clv_error_set(err, -EINVAL,
				"a fleet is filled up with single requests: the trace "
				"has "
				"gangs");
	}
	for (size_t i = source->n_items; i > 1; i--) {
		size_t other = draw(source) % i;
		struct clv_trace_item swap = source->items[i - 1];

		source->items[i - 1] = source->items[other];
		source->items[other] = swap;
	}
	source->next = next_of_fill;
	return r;
}

/* Of equal times, the gang that was read first; its requests stay together. */
static int compare_items(const void *a, const void *b)
{
	const struct clv_trace_item *one = a, *other = b;

	if (one->arrives_s != other->arrives_s)
		return one->arrives_s < other->arrives_s ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

/* For formats that are published in no order. */
static int sort(struct clv_source *source, struct clv_error *err)
{
	int r = gather(source, err);

	for (size_t i = 0; i < source->n_items; i++)
		source->items[i].number = i;
	if (r == 0 && source->n_items > 0)
		qsort(source->items, source->n_items, sizeof(*source->items),
			compare_items);
	source->next = next_of_items;
	return r;
}

static bool ends_in(const char *path, const char *end)
{
	size_t length = strlen(path), end_length = strlen(end);

	return length > end_length && strcmp(path + length - end_length, end) == 0;
}

/* Whether a file is one of rows: CSV by its name or its first line, or Philly's JSON. */
static bool has_rows(const char *path)
{
	char line[256] = "", *at = line;
	FILE *file = ends_in(path, ".csv") ? NULL : fopen(path, "re");

	if (!file)
		return ends_in(path, ".csv");
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	if (strncmp(at, "\xef\xbb\xbf", 3) == 0)
		at += 3;
	return at[0] == '[' || (strchr(at, ',') && !strpbrk(at, ":#{"));
}

/* Opens the file with the header of FILE.csv; NULL if there is none. */
static FILE *open_header(const char *path)
{
	char name[4096];
	int length = (int)strlen(path) - 4;

	if (!ends_in(path, ".csv") || snprintf(name, sizeof(name), "%.*s.header", length,
					      path) >= (int)sizeof(name))
		return NULL;
	return fopen(name, "re");
}

int clv_source_read_snapshot(
	const char *path, struct clv_snapshot **ret, struct clv_error *err)
{
	int r;

	*ret = NULL;
	r = has_rows(path) ? 0 : clv_snapshot_open(path, ret, err);
	return r < 0 ? r : 0;
}

int clv_source_read_fleet(const char *path, struct clv_fleet *fleet,
	struct clv_node_notes *notes, struct clv_snapshot **ret_snapshot,
	struct clv_snapshot_odd *odd, struct clv_error *err)
{
	FILE *file, *header;
	int r;

	*ret_snapshot = NULL;
	if (!has_rows(path)) {
		r = clv_snapshot_open(path, ret_snapshot, err);
		if (r == 0)
			return clv_plan_read_fleet(path, fleet, notes, err);
		return r < 0 ? r
			     : clv_snapshot_add_nodes(
				       *ret_snapshot, fleet, notes, odd, err);
	}
	file = fopen(path, "re");
	if (!file)
		return clv_error_errno(err, errno, "%.200s", path);
	header = open_header(path);
	r = clv_trace_read_nodes(file, path, header, fleet, notes, err);
	if (header)
		fclose(header);
	fclose(file);
	return r;
}

static int open_rows(struct clv_source *source, const char *path, struct clv_error *err)
{
	const struct clv_source_options *options = &source->options;
	FILE *header;
	int r;

	source->file = fopen(path, "re");
	if (!source->file)
		return clv_error_errno(err, errno, "%.200s", path);
	header = open_header(path);
	r = clv_trace_begin_headed(
		&source->rows, source->file, path, header, source->fleet, err);
	if (header)
		fclose(header);
	source->rows.is_timed = options->is_timed;
	source->rows.was_read = options->was_read;
	if (options->skips) {
		source->skips = *options->skips;
		source->rows.skips = &source->skips;
	}
	if (options->was_read)
		source->skips.tell = NULL;
	source->next = next_of_rows;
	if (r == 0 && options->is_timed && options->fill_milli == 0 &&
		!clv_trace_is_sorted(&source->rows))
		r = sort(source, err);
	return r;
}

static int read_snapshot(struct clv_source *source, const struct clv_snapshot *snapshot,
	struct clv_error *err)
{
	const struct clv_source_options *options = &source->options;
	struct clv_snapshot_odd odd = {0};
	int r = clv_snapshot_read_trace(
		snapshot, source->fleet, options->has_placed, &source->plan, &odd, err);

	if (options->odd && !options->was_read)
		*options->odd = odd;
	return r;
}

static int open_plan(struct clv_source *source, const char *path, struct clv_error *err)
{
	_cleanup_snapshot_ struct clv_snapshot *own = NULL;
	const struct clv_snapshot *snapshot = source->options.snapshot;
	int r = snapshot ? 1 : clv_snapshot_open(path, &own, err);

	if (r == 0)
		r = clv_plan_read_trace(path, source->fleet, &source->plan, err);
	else if (r > 0)
		r = read_snapshot(source, snapshot ? snapshot : own, err);

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
	source->mig_state = ~options->seed;
	r = !options->snapshot && has_rows(path) ? open_rows(source, path, err)
						 : open_plan(source, path, err);
	if (r == 0 && options->fill_milli > 0)
		r = shuffle(source, err);
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

bool clv_source_is_drawn(const struct clv_source *source)
{
	return source->plan.per_hour > 0 || source->options.fill_milli > 0 ||
	       source->options.mig_ppm > 0;
}

int clv_source_take_placed(
	struct clv_source *source, struct clv_fleet *fleet, struct clv_error *err)
{
	return clv_plan_take_placed(&source->plan, fleet, NULL, NULL, err);
}

/* The smallest instance of the fleet's first kind that has as much compute and memory as
 * a share; -1 if there is none. */
static int instance_for(
	const struct clv_fleet *fleet, const struct clv_place_request *request)
{
	const struct clv_mig_model *model = fleet->schemes[0].model;
	uint32_t best_milli = UINT32_MAX;
	int best = -1;

	for (unsigned i = 0; i < model->n_profiles; i++) {
		uint32_t milli = clv_fleet_profile_milli(fleet, 1, (uint8_t)(i + 1));
		uint32_t slices = model->profiles[i].slices;

		if (slices * CLV_PLACE_WHOLE < request->milli * model->slices ||
			milli >= best_milli ||
			(model->profiles[i].memory_mib &&
				model->profiles[i].memory_mib < request->device_mib))
			continue;
		best_milli = milli;
		best = (int)i;
	}
	return best;
}

/* What if a part of the shares were MIG instances. */
static void put_in_mig(struct clv_source *source, struct clv_place_request *request)
{
	int profile;

	if (source->fleet->n_schemes == 0 || request->n_devices != 1 ||
		request->profile || request->milli >= CLV_PLACE_WHOLE ||
		draw_from(&source->mig_state) % CLV_PPM >= source->options.mig_ppm)
		return;
	profile = instance_for(source->fleet, request);
	if (profile < 0)
		return;
	request->scheme = 1;
	request->profile = (uint8_t)(profile + 1);
	request->milli = 0;
	request->device_mib = 0;
	request->models = CLV_PLACE_ANY_MODEL;
}

/* The requests of a gang with a rule are a group, unless the file says which. */
static int tell(struct clv_source *source, struct clv_trace_item *item)
{
	struct clv_place_request *request = &item->request;

	source->n_gangs += item->gang && item->gang != source->told_gang;
	source->told_gang = item->gang;
	if (item->gang && request->rule == CLV_PLACE_FREE)
		request->rule = source->options.gang_rule;
	/* Whether a gang has room on one node is not known before it is tried on each. */
	if (item->gang && request->group == 0 && request->rule != CLV_PLACE_FREE &&
		request->rule != CLV_PLACE_TOGETHER)
		request->group = CLV_TRACE_OWN_GROUPS | source->n_gangs;
	return 1;
}

int clv_source_next(
	struct clv_source *source, struct clv_trace_item *ret, struct clv_error *err)
{
	int r;

	if (source->n_members_left > 0) {
		source->n_members_left--;
		*ret = source->member;
		return tell(source, ret);
	}
	r = source->next(source, ret, err);
	if (r <= 0)
		return r;
	if (source->options.mig_ppm > 0)
		put_in_mig(source, &ret->request);
	begin_gang(source, ret);
	return tell(source, ret);
}

struct clv_source *clv_source_close(struct clv_source *source)
{
	if (!source)
		return NULL;
	if (source->file) {
		clv_trace_end(&source->rows);
		fclose(source->file);
	}
	clv_plan_trace_done(&source->plan);
	free(source->items);
	free(source);
	return NULL;
}
