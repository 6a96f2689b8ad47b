/* SPDX-License-Identifier: Apache-2.0 */
/* What the published program computes, from its source:
 *
 * - Requests are equal if processors, share, number of devices and the text of the list
 *   of models are.  The most frequent are typical until they make up 95 %; of equally
 *   frequent ones those with more processors are first, then larger shares, then more
 *   devices, then by the text in reverse.
 * - For each of them the free compute that it could not use is added to one of six sums,
 *   by the reason; the six are added up in a fixed order.
 * - The difference before and after a placement, in devices, goes through a sigmoid and
 *   is cut to a whole number from 0 to 100. */
#include "place-published.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "core/place/pick.h"
#include "simulate/files/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHAPES_MAX 4096
#define TYPICAL_PERCENT 95
#define N_SUMS 6

struct shape {
	uint32_t cpu_milli, milli, n_devices;
	char models_text[96];
	uint64_t models;
	uint32_t n;
	double part;
};

static struct shape *shapes;
static size_t n_shapes;

static int compare_numbers(uint32_t one, uint32_t other)
{
	return one < other ? 1 : one > other ? -1 : 0;
}

static int compare(const void *a, const void *b)
{
	const struct shape *one = a, *other = b;
	int order = compare_numbers(one->n, other->n);

	order = order ? order : compare_numbers(one->cpu_milli, other->cpu_milli);
	order = order ? order : compare_numbers(one->milli, other->milli);
	order = order ? order : compare_numbers(one->n_devices, other->n_devices);
	return order ? order : strcmp(other->models_text, one->models_text);
}

static void count(const struct shape *shape)
{
	for (size_t i = 0; i < n_shapes; i++) {
		struct shape *other = &shapes[i];

		if (other->cpu_milli == shape->cpu_milli &&
			other->milli == shape->milli &&
			other->n_devices == shape->n_devices &&
			strcmp(other->models_text, shape->models_text) == 0) {
			other->n++;
			return;
		}
	}
	if (n_shapes == SHAPES_MAX)
		place_die("too many shapes of request for the published program's rule");
	shapes[n_shapes] = *shape;
	shapes[n_shapes++].n = 1;
}

static uint64_t models_of(const struct clv_fleet *fleet, const char *text)
{
	char copy[sizeof(shapes->models_text)], *state = NULL;
	uint64_t models = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *name = strtok_r(copy, "|", &state); name;
		name = strtok_r(NULL, "|", &state)) {
		int model = clv_fleet_find_model(fleet, name);

		models |= model >= 0 ? UINT64_C(1) << model : 0;
	}
	return models;
}

struct row {
	uint32_t cpu_milli, milli, n_devices;
	const char *models;
};

/* clang-format off */
#define AT(member) offsetof(struct row, member)
static const struct clv_csv_column columns[] = {
	{"cpu_milli", clv_csv_read_u32,  AT(cpu_milli), true},
	{"num_gpu",   clv_csv_read_u32,  AT(n_devices), true},
	{"gpu_milli", clv_csv_read_u32,  AT(milli),     true},
	{"gpu_spec",  clv_csv_read_text, AT(models),    false},
};
/* clang-format on */

static void read_shapes(const char *path, const struct clv_fleet *fleet)
{
	_cleanup_free_ struct clv_csv *csv = calloc(1, sizeof(*csv));
	FILE *file = fopen(path, "r");
	struct clv_error err = {0};
	struct clv_csv_map map;
	int r;

	if (!csv || !file)
		place_die("cannot read the trace");
	clv_csv_init(csv, file, path);
	r = clv_csv_next(csv, &err);
	if (r > 0)
		r = clv_csv_map(csv, columns, CLV_ARRAY_SIZE(columns), &map, &err);
	while (r >= 0 && (r = clv_csv_next(csv, &err)) > 0) {
		struct row row = {.models = ""};
		struct shape shape = {0};

		r = clv_csv_read(csv, &map, &row, &err);
		shape.cpu_milli = row.cpu_milli;
		shape.n_devices = row.n_devices;
		shape.milli = row.milli < CLV_PLACE_WHOLE ? row.milli : CLV_PLACE_WHOLE;
		snprintf(shape.models_text, sizeof(shape.models_text), "%s", row.models);
		shape.models = models_of(fleet, row.models);
		if (r >= 0)
			count(&shape);
	}
	if (r < 0)
		place_die(err.msg);
	fclose(file);
}

static void take_shapes(const struct place_input *input)
{
	for (size_t i = 0; i < input->n_items; i++) {
		const struct clv_place_request *request = &input->items[i].request;
		struct shape shape = {
			.cpu_milli = request->cpu_milli,
			.milli = request->milli,
			.n_devices = request->n_devices,
			.models = request->models,
		};

		if (request->models)
			snprintf(shape.models_text, sizeof(shape.models_text), "%016llx",
				(unsigned long long)request->models);
		count(&shape);
	}
}

static void cut(void)
{
	double all = 0, kept = 0;
	size_t n = 0;

	qsort(shapes, n_shapes, sizeof(*shapes), compare);
	for (size_t i = 0; i < n_shapes; i++)
		all += shapes[i].n;
	while (n < n_shapes && kept < TYPICAL_PERCENT * all / 100.0) {
		kept += shapes[n].n;
		shapes[n].part = shapes[n].n / all;
		n++;
	}
	for (size_t i = 0; i < n && n < n_shapes; i++)
		shapes[i].part /= kept / all;
	n_shapes = n;
}

void place_published_begin(const char *trace, const struct place_input *input)
{
	free(shapes);
	n_shapes = 0;
	shapes = calloc(SHAPES_MAX, sizeof(*shapes));
	if (!shapes)
		place_die("out of memory");
	if (trace)
		read_shapes(trace, input->fleet);
	else
		take_shapes(input);
	cut();
}

/* A node as the published program sees it. */
struct state {
	uint32_t cpu_milli, n_devices, all;
	uint8_t model;
	uint16_t free[CLV_PLACE_DEVICES_MAX];
};

static struct state state_of(
	const struct clv_fleet *fleet, const struct clv_fleet_node *node)
{
	struct state state = {.cpu_milli = node->free_cpu_milli,
		.n_devices = node->n_devices,
		.model = node->model};

	for (unsigned i = 0; i < node->n_devices; i++) {
		state.free[i] = fleet->devices[node->first_device + i].free_milli;
		state.all += state.free[i];
	}
	return state;
}

static void take(struct state *state, unsigned device, uint32_t milli)
{
	state->free[device] = (uint16_t)(state->free[device] - milli);
	state->all -= milli;
}

/* Adds what is useless to the shape to one of: processors and devices are lacking,
 * devices are, processors are, the shape has no devices and processors suffice or do not,
 * the model is not accepted. */
static void add_useless(
	const struct state *state, const struct shape *shape, double *sums)
{
	bool has_cpu = state->cpu_milli >= shape->cpu_milli;
	uint32_t useless = 0;
	unsigned n = 0;

	if (shape->milli == 0) {
		sums[has_cpu ? 3 : 4] += shape->part * state->all;
		return;
	}
	if (shape->models_text[0] && !(shape->models >> state->model & 1)) {
		sums[5] += shape->part * state->all;
		return;
	}
	for (unsigned i = 0; i < state->n_devices; i++) {
		bool fits = state->free[i] >= shape->milli;

		n += fits;
		useless += fits ? 0 : state->free[i];
	}
	if (n < shape->n_devices)
		sums[has_cpu ? 1 : 0] += shape->part * state->all;
	else if (has_cpu)
		sums[1] += shape->part * useless;
	else
		sums[2] += shape->part * state->all;
}

static double useless_of(const struct state *state)
{
	double sums[N_SUMS] = {0}, all = 0;

	for (size_t i = 0; i < n_shapes; i++)
		add_useless(state, &shapes[i], sums);
	for (unsigned i = 0; i < N_SUMS; i++)
		all += sums[i];
	return all;
}

static int32_t score_of(double before, double after)
{
	return (int32_t)(1 / (1 + exp(-(before - after) / 1000)) * 100);
}

/* The score of the best place on the node. */
static int32_t find(const struct clv_place_view *view, const struct clv_fleet_node *node,
	const struct clv_place_request *request, struct clv_place_at *ret_at)
{
	struct state state = state_of(view->fleet, node);
	double before = useless_of(&state);
	int32_t best = -1;

	state.cpu_milli -= request->cpu_milli;
	if (request->n_devices != 1 || request->milli == CLV_PLACE_WHOLE) {
		clv_pick_devices(view->fleet, node, request, CLV_PICK_TIGHTEST, ret_at);
		for (uint64_t left = ret_at->devices; left; left &= left - 1)
			take(&state, (unsigned)__builtin_ctzll(left), request->milli);
		return score_of(before, useless_of(&state));
	}
	for (unsigned i = 0; i < state.n_devices; i++) {
		struct state after = state;
		int32_t score;

		if (state.free[i] < request->milli)
			continue;
		take(&after, i, request->milli);
		score = score_of(before, useless_of(&after));
		if (score > best) {
			best = score;
			ret_at->devices = UINT64_C(1) << i;
		}
	}
	return best;
}

static int32_t score(const struct clv_place_view *view, const struct clv_fleet_node *node,
	const struct clv_place_request *request)
{
	struct clv_place_at at = {0};

	return find(view, node, request, &at);
}

static void choose(const struct clv_place_view *view, const struct clv_fleet_node *node,
	const struct clv_place_request *request, struct clv_place_at *ret_at)
{
	find(view, node, request, ret_at);
	ret_at->start = 0;
}

const struct clv_place_policy place_published_fgd = {
	.name = "published-fgd",
	.help = "fgd with the published program's arithmetic",
	.score = score,
	.choose = choose,
};
