/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and draws what the benches of placement run on. */
#include "place-input.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "simulate/trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of the requests whose shapes are the expected workload, as published. */
#define TYPICAL_PERCENT 95

void place_die(const char *what)
{
	fprintf(stderr, "place: %s\n", what);
	exit(1);
}

static void must(int r, const struct clv_error *err)
{
	if (r < 0)
		place_die(err->msg);
}

static FILE *open_or_die(const char *path)
{
	FILE *file = fopen(path, "r");

	if (!file) {
		fprintf(stderr, "place: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return file;
}

static void add_item(
	struct place_input *input, const struct clv_trace_item *item, size_t *room)
{
	if (input->n_items == *room) {
		*room = *room ? 2 * *room : 1024;
		input->items = reallocarray(input->items, *room, sizeof(*item));
		if (!input->items)
			place_die("out of memory");
	}
	input->items[input->n_items++] = *item;
	if (clv_workload_add(&input->workload, &item->request, 1) < 0)
		place_die("out of memory");
}

void place_input_read_trace(
	const char *path, const struct clv_fleet *fleet, struct place_input *ret)
{
	_cleanup_free_ struct clv_trace *trace = calloc(1, sizeof(*trace));
	FILE *file = open_or_die(path);
	struct clv_error err = {0};
	size_t room = 0;
	int r;

	must(trace ? clv_trace_begin(trace, file, path, fleet, &err) : -ENOMEM, &err);
	for (;;) {
		struct clv_trace_item item;

		r = clv_trace_next(trace, &item, &err);
		must(r, &err);
		if (r == 0)
			break;
		add_item(ret, &item, &room);
	}
	clv_workload_cut(&ret->workload, TYPICAL_PERCENT);
	clv_trace_end(trace);
	fclose(file);
}

void place_input_read(const char *nodes, const char *trace, struct place_input *ret)
{
	FILE *file = open_or_die(nodes);
	struct clv_error err = {0};

	*ret = (struct place_input){.fleet = clv_fleet_new()};
	must(clv_trace_read_fleet(file, nodes, ret->fleet, &err), &err);
	fclose(file);
	place_input_read_trace(trace, ret->fleet, ret);
}

void place_input_done(struct place_input *input)
{
	clv_workload_done(&input->workload);
	clv_fleet_free(input->fleet);
	free(input->items);
	*input = (struct place_input){0};
}

struct clv_fleet *place_input_ordered(
	const struct clv_fleet *fleet, const uint32_t *order, size_t n)
{
	struct clv_fleet *ret = clv_fleet_new();
	struct clv_error err = {0};

	/* The models keep their numbers, which the requests refer to. */
	for (uint32_t i = 0; i < fleet->n_models; i++)
		must(clv_fleet_model(ret, fleet->models[i]), &err);
	for (size_t i = 0; i < n; i++) {
		const struct clv_fleet_node *node;

		if (order[i] >= fleet->n_nodes)
			place_die("the order names a node that there is not");
		node = &fleet->nodes[order[i]];
		must(clv_fleet_add_node(ret,
			     &(struct clv_fleet_node_spec){
				     .model = fleet->models[node->model],
				     .cpu_milli = node->cpu_milli,
				     .memory_mib = node->memory_mib,
				     .n_devices = node->n_devices,
			     },
			     &err),
			&err);
	}
	return ret;
}

/* Splitmix64. */
uint64_t place_random_next(struct place_random *random)
{
	uint64_t x = random->state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint32_t place_random_below(struct place_random *random, uint32_t limit)
{
	return (uint32_t)((place_random_next(random) >> 32) * limit >> 32);
}

double place_random_part(struct place_random *random)
{
	return (double)(place_random_next(random) >> 11) / (double)(UINT64_C(1) << 53);
}

void place_random_shuffle(struct place_random *random, uint32_t *numbers, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		uint32_t other = place_random_below(random, (uint32_t)i);
		uint32_t kept = numbers[i - 1];

		numbers[i - 1] = numbers[other];
		numbers[other] = kept;
	}
}

/* What a drawn trace consists of. */
struct mix {
	struct clv_place_request shapes[64];
	double parts[64];
	unsigned n_shapes;
	double sum;
};

static uint32_t one_of(struct place_random *random, const uint32_t *values, unsigned n)
{
	return values[place_random_below(random, n)];
}

static void draw_fleet(struct place_random *random, struct clv_fleet *fleet)
{
	static const uint32_t devices[] = {1, 2, 4, 8, 8, 16};
	static const uint32_t cpus[] = {4000, 8000, 12000, 16000, 32000, 64000};
	unsigned n_kinds = 2 + place_random_below(random, 5);

	for (unsigned kind = 0; kind < n_kinds; kind++) {
		uint32_t n_devices = one_of(random, devices, 6);
		uint32_t cpu_milli = one_of(random, cpus, 6) * n_devices;
		unsigned n = (40 + place_random_below(random, 800)) / n_devices;
		char model[8];

		snprintf(model, sizeof(model), "M%u", kind);
		for (unsigned i = 0; i <= n; i++) {
			struct clv_fleet_node_spec spec = {
				.model = model,
				.cpu_milli = cpu_milli,
				.memory_mib = cpu_milli * 5,
				.n_devices = (uint8_t)n_devices,
			};

			if (clv_fleet_add_node(fleet, &spec, NULL) < 0)
				place_die("out of memory");
		}
	}
}

static bool fits_some_node(
	const struct clv_fleet *fleet, const struct clv_place_request *request)
{
	for (uint32_t i = 0; i < fleet->n_nodes; i++) {
		const struct clv_fleet_node *node = &fleet->nodes[i];

		if (node->cpu_milli >= request->cpu_milli &&
			node->memory_mib >= request->memory_mib &&
			node->n_devices >= request->n_devices &&
			(!request->models || request->models >> node->model & 1))
			return true;
	}
	return false;
}

/* how: parts of processors alone, shares, and several devices, and those of one model. */
static struct clv_place_request draw_shape(
	struct place_random *random, const struct clv_fleet *fleet, const double how[4])
{
	static const uint32_t cpus[] = {1000, 2000, 4000, 6000, 8000, 12000, 16000};
	static const uint32_t several[] = {2, 2, 4, 4, 8, 8, 3, 16};
	struct clv_place_request request = {.class = CLV_CLASS_NORMAL};
	double draw = place_random_part(random);

	request.cpu_milli = one_of(random, cpus, 7);
	if (draw < how[0]) {
		request.cpu_milli *= 1 + place_random_below(random, 4);
	} else if (draw < how[0] + how[1]) {
		request.n_devices = 1;
		request.milli = (uint16_t)(10 * (5 + place_random_below(random, 90)));
	} else {
		bool is_one = draw < 1 - how[2];

		request.n_devices = is_one ? 1 : (uint8_t)one_of(random, several, 8);
		request.milli = CLV_PLACE_WHOLE;
		request.cpu_milli *= request.n_devices;
	}
	request.memory_mib = request.cpu_milli * 2;
	if (request.n_devices > 0 && place_random_part(random) < how[3])
		request.models = UINT64_C(1)
				 << place_random_below(random, fleet->n_models);
	return request;
}

static void draw_mix(
	struct place_random *random, const struct clv_fleet *fleet, struct mix *mix)
{
	double how[4] = {
		place_random_part(random) * 0.25,
		place_random_part(random) * 0.6,
		place_random_part(random) * place_random_part(random) * 0.15,
		place_random_part(random) * place_random_part(random) * 0.6,
	};
	double skew = 0.5 + place_random_part(random);

	mix->n_shapes = 12 + place_random_below(random, 53);
	for (unsigned i = 0; i < mix->n_shapes;) {
		mix->shapes[i] = draw_shape(random, fleet, how);
		if (!fits_some_node(fleet, &mix->shapes[i]))
			continue;
		mix->parts[i] = pow(1 + place_random_below(random, 40), -skew);
		mix->sum += mix->parts[i++];
	}
}

void place_input_draw(uint64_t seed, struct place_input *ret)
{
	struct place_random random = {.state = seed};
	_cleanup_free_ struct mix *mix = calloc(1, sizeof(*mix));
	uint64_t milli = 0;
	size_t room = 0;

	*ret = (struct place_input){.fleet = clv_fleet_new()};
	if (!ret->fleet || !mix)
		place_die("out of memory");
	draw_fleet(&random, ret->fleet);
	draw_mix(&random, ret->fleet, mix);
	while (milli < ret->fleet->milli && ret->n_items < 50000) {
		double draw = place_random_part(&random) * mix->sum;
		struct clv_trace_item item = {.stays_s = CLV_TRACE_FOREVER};
		unsigned shape = 0;

		while (shape < mix->n_shapes - 1 && draw >= mix->parts[shape])
			draw -= mix->parts[shape++];
		item.request = mix->shapes[shape];
		milli += clv_fleet_request_milli(ret->fleet, &item.request);
		add_item(ret, &item, &room);
	}
	clv_workload_cut(&ret->workload, TYPICAL_PERCENT);
}
