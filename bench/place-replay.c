/* SPDX-License-Identifier: Apache-2.0 */
/* One replay of a trace in an order from a file, for bench/place.py: line 1 of the file
 * has counts, line 2 the rows of the trace in order of arrival, line 3 the rows of the
 * fleet in the order in which ties are broken.  Prints one JSON object; a separate run
 * reads the clock around each decision. */
#include "place-input.h"
#include "place-published.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "core/fleet/fleet.h"
#include "core/place/place.h"
#include "core/place/policy.h"
#include "simulate/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct input {
	struct place_input read;
	struct clv_fleet *fleet; /* in the order in which ties are broken */
	uint32_t *arrivals;
	size_t n_arrivals;
};

static void must(int r, const struct clv_error *err)
{
	if (r < 0)
		place_die(err->msg);
}

static uint32_t *read_numbers(FILE *file, size_t n)
{
	uint32_t *numbers = calloc(n + 1, sizeof(*numbers));

	for (size_t i = 0; numbers && i < n; i++) {
		if (fscanf(file, "%" SCNu32, &numbers[i]) != 1)
			place_die("the order ends early");
	}
	return numbers;
}

static void read_input(char **paths, struct input *input)
{
	FILE *order = fopen(paths[2], "r");
	_cleanup_free_ uint32_t *ties = NULL;
	size_t n_ties;

	place_input_read(paths[0], paths[1], &input->read);
	place_published_begin(paths[1], &input->read);
	if (!order || fscanf(order, "%zu %zu", &input->n_arrivals, &n_ties) != 2)
		place_die("the order has no counts");
	input->arrivals = read_numbers(order, input->n_arrivals);
	ties = read_numbers(order, n_ties);
	input->fleet = place_input_ordered(input->read.fleet, ties, n_ties);
	for (size_t i = 0; i < input->n_arrivals; i++) {
		if (input->arrivals[i] >= input->read.n_items)
			place_die("the order names a row that there is not");
	}
	fclose(order);
}

static struct clv_replay *replay_of(
	const struct input *input, const struct clv_place_policy *policy)
{
	struct clv_error err = {0};
	struct clv_replay *replay = NULL;

	must(clv_replay_new(clv_fleet_copy(input->fleet), policy, &input->read.workload,
		     NULL, &replay, &err),
		&err);
	return replay;
}

static int compare(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return one < other ? -1 : one > other;
}

/* The nanoseconds of each decision, by a placer that starts without cached state. */
static void time_decisions(
	const struct input *input, const struct clv_place_policy *policy)
{
	struct clv_fleet *fleet = clv_fleet_copy(input->fleet);
	uint32_t *took_ns = calloc(input->n_arrivals + 1, sizeof(*took_ns));
	struct clv_placer *placer = NULL;
	uint64_t sum_ns = 0, began_ns = clv_clock_ns();
	size_t n = input->n_arrivals;
	struct clv_error err = {0};

	if (!fleet || !took_ns)
		place_die("out of memory");
	must(clv_placer_new(fleet, policy, &input->read.workload, NULL, &placer, &err),
		&err);
	for (size_t i = 0; i < n; i++) {
		const struct clv_trace_item *item =
			&input->read.items[input->arrivals[i]];
		uint64_t from_ns = clv_clock_ns();
		uint32_t lease;

		if (!item->is_of_no_model)
			clv_placer_place(placer, &item->request, &lease);
		took_ns[i] = (uint32_t)(clv_clock_ns() - from_ns);
		sum_ns += took_ns[i];
	}
	printf(", \"seconds\": %.6f", (double)(clv_clock_ns() - began_ns) / 1e9);
	qsort(took_ns, n, sizeof(*took_ns), compare);
	printf(", \"mean_us\": %.3f, \"p50_us\": %.3f, \"p99_us\": %.3f",
		n ? (double)sum_ns / (double)n / 1e3 : 0, took_ns[n / 2] / 1e3,
		took_ns[n * 99 / 100] / 1e3);
	clv_placer_free(placer);
	clv_fleet_free(fleet);
	free(took_ns);
}

static void print_curve(const struct clv_replay *replay)
{
	const struct clv_replay_point *curve = clv_replay_curve(replay);
	const char *between = "";

	printf(", \"curve\": {");
	for (unsigned i = 0; i < CLV_REPLAY_POINTS; i++) {
		if (curve[i].n == 0)
			continue;
		printf("%s\"%u\": [%.5f, %.5f, %" PRIu32 "]", between, i,
			100 * curve[i].allocated, 100 * curve[i].stranded,
			curve[i].in_use);
		between = ", ";
	}
	printf("}");
}

int main(int argc, char **argv)
{
	const struct clv_place_policy *policy =
		argc == 5 ? clv_place_policy_find(argv[4]) : NULL;
	struct input input = {0};
	struct clv_replay *replay;

	if (argc == 5 && strcmp(argv[4], place_published_fgd.name) == 0)
		policy = &place_published_fgd;
	if (!policy) {
		fprintf(stderr, "usage: place-replay NODES TRACE ORDER POLICY\n");
		return 64;
	}
	read_input(argv + 1, &input);
	replay = replay_of(&input, policy);
	for (size_t i = 0; i < input.n_arrivals; i++) {
		if (clv_replay_arrive(
			    replay, &input.read.items[input.arrivals[i]], false) < 0)
			place_die("out of memory");
	}
	printf("{\"policy\": \"%s\", \"arrived\": %zu, \"refused\": %" PRIu64,
		policy->name, input.n_arrivals, clv_replay_counts(replay)->refused);
	time_decisions(&input, policy);
	print_curve(replay);
	printf("}\n");
	clv_replay_free(replay);
	clv_fleet_free(input.fleet);
	place_input_done(&input.read);
	free(input.arrivals);
	return 0;
}
