/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of a decision by the size of the fleet: nodes of the kinds of the openb trace,
 * in its proportions, with five devices each on average, filled to 98 % with the trace's
 * own mix and kept there by departures.  The mix has 96 shapes of request, or with
 * "diverse" as many as there are requests: processors, memory and shares are drawn.
 * Prints one JSON object per size. */
#include "random.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/place.h"
#include "core/place/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct { struct clv_fleet_node_spec spec; unsigned n; } kinds[] = {
	{{.model = "G2", .cpu_milli = 96000, .memory_mib = 393216, .n_devices = 8}, 549},
	{{.model = "T4", .cpu_milli = 104000, .memory_mib = 524288, .n_devices = 2}, 387},
	{{.model = "P100", .cpu_milli = 24000, .memory_mib = 145330, .n_devices = 2}, 131},
	{{.model = "G3", .cpu_milli = 128000, .memory_mib = 786432, .n_devices = 8}, 39},
	{{.model = "V100M16", .cpu_milli = 32000, .memory_mib = 131072, .n_devices = 4}, 28},
	{{.model = "V100M32", .cpu_milli = 96000, .memory_mib = 786432, .n_devices = 8}, 21},
};
static const struct { uint16_t milli; uint8_t n_devices; unsigned n; } sizes[] = {
	{1000, 1, 3911}, {0, 0, 1088}, {810, 1, 1078}, {470, 1, 750}, {320, 1, 328},
	{650, 1, 253}, {230, 1, 140}, {460, 1, 128}, {590, 1, 75}, {160, 1, 74},
	{550, 1, 72}, {220, 1, 62}, {370, 1, 47}, {1000, 8, 44}, {1000, 2, 16}, {1000, 4, 15},
};
static const uint16_t cpus[] = {4000, 6000, 8000, 8000, 10000, 12000, 12000, 16000};
/* clang-format on */

static void must(bool good)
{
	if (good)
		return;
	fprintf(stderr, "place-scale: out of memory\n");
	exit(1);
}

static struct clv_fleet *fleet_of(unsigned n_nodes)
{
	struct clv_fleet *fleet = clv_fleet_new();
	unsigned all = 0;

	must(fleet);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(kinds); i++)
		all += kinds[i].n;
	for (unsigned i = 0; i < n_nodes; i++) {
		uint32_t left = bench_random_below(all);
		size_t kind = 0;

		while (left >= kinds[kind].n)
			left -= kinds[kind++].n;
		must(clv_fleet_add_node(fleet, &kinds[kind].spec, NULL) == 0);
	}
	return fleet;
}

static bool is_diverse;

/* Nearly no two requests are equal. */
static void vary(struct clv_place_request *request)
{
	request->cpu_milli =
		request->cpu_milli / 2 + bench_random_below(request->cpu_milli);
	request->memory_mib = request->cpu_milli + bench_random_below(65536);
	if (request->n_devices == 1 && request->milli < CLV_PLACE_WHOLE)
		request->milli = (uint16_t)(50 + bench_random_below(900));
}

static struct clv_place_request request_of_mix(void)
{
	struct clv_place_request request = {.class = CLV_CLASS_NORMAL};
	unsigned all = 0, size = 0;
	uint32_t left;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(sizes); i++)
		all += sizes[i].n;
	left = bench_random_below(all);
	while (left >= sizes[size].n)
		left -= sizes[size++].n;
	request.milli = sizes[size].milli;
	request.n_devices = sizes[size].n_devices;
	request.cpu_milli = cpus[bench_random_below(CLV_ARRAY_SIZE(cpus))];
	if (request.n_devices > 1)
		request.cpu_milli *= request.n_devices;
	request.memory_mib = request.cpu_milli * 2;
	if (is_diverse)
		vary(&request);
	return request;
}

struct times {
	uint32_t *took_ns;
	size_t n, room;
};

static void times_add(struct times *times, uint64_t took_ns)
{
	if (times->n == times->room) {
		times->room = times->room ? 2 * times->room : 1 << 16;
		times->took_ns = reallocarray(
			times->took_ns, times->room, sizeof(*times->took_ns));
		must(times->took_ns);
	}
	times->took_ns[times->n++] = (uint32_t)took_ns;
}

static int compare(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return one < other ? -1 : one > other;
}

static void decide(
	struct clv_fleet *fleet, struct clv_placer *placer, struct times *times)
{
	struct clv_place_request request = request_of_mix();
	uint64_t began_ns = clv_clock_ns();
	uint32_t lease;

	clv_placer_place(placer, &request, &lease);
	times_add(times, clv_clock_ns() - began_ns);
	/* The fleet is full: one lease ends for each that arrives. */
	if (fleet->held_milli * 100 > fleet->milli * 98) {
		uint32_t gone = bench_random_below(fleet->n_leases);

		clv_fleet_release(fleet, gone);
	}
}

static void measure(unsigned n_nodes, const struct clv_place_policy *policy)
{
	struct clv_fleet *fleet = fleet_of(n_nodes);
	struct clv_workload workload = {0};
	struct clv_placer *placer = NULL;
	struct times times = {0};
	uint64_t sum_ns = 0, bytes;

	for (unsigned i = 0; i < 8000; i++) {
		struct clv_place_request request = request_of_mix();

		must(clv_workload_add(&workload, &request, 1) == 0);
	}
	clv_workload_cut(&workload, 95);
	must(clv_placer_new(fleet, policy, &workload, NULL, &placer, NULL) == 0);
	for (size_t i = 0; i < 10 * (size_t)n_nodes + 20000; i++)
		decide(fleet, placer, &times);
	for (size_t i = 0; i < times.n; i++)
		sum_ns += times.took_ns[i];
	qsort(times.took_ns, times.n, sizeof(*times.took_ns), compare);
	bytes = clv_fleet_bytes(fleet) + clv_placer_bytes(placer);
	printf("{\"policy\": \"%s\", \"shapes\": \"%s\", \"nodes\": %u, \"devices\": %u, "
	       "\"decisions\": %zu, "
	       "\"mean_us\": %.3f, \"p50_us\": %.3f, \"p99_us\": %.3f, "
	       "\"bytes_per_device\": %.1f, \"allocated\": %.4f}\n",
		policy->name, is_diverse ? "diverse" : "repeated", n_nodes,
		fleet->n_devices, times.n, (double)sum_ns / (double)times.n / 1e3,
		times.took_ns[times.n / 2] / 1e3, times.took_ns[times.n * 99 / 100] / 1e3,
		(double)bytes / (double)fleet->n_devices,
		(double)fleet->held_milli / (double)fleet->milli);
	fflush(stdout);
	clv_placer_free(placer);
	clv_workload_done(&workload);
	clv_fleet_free(fleet);
	free(times.took_ns);
}

int main(int argc, char **argv)
{
	const struct clv_place_policy *policy =
		argc > 3 ? clv_place_policy_find(argv[1]) : NULL;

	if (!policy) {
		fprintf(stderr, "usage: place-scale POLICY repeated|diverse NODES...\n");
		return 64;
	}
	is_diverse = strcmp(argv[2], "diverse") == 0;
	for (int i = 3; i < argc; i++)
		measure((unsigned)strtoul(argv[i], NULL, 10), policy);
	return 0;
}
