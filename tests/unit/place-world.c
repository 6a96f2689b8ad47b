/* SPDX-License-Identifier: Apache-2.0 */
#include "place-world.h"

#include "base/error.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t random_state = UINT64_C(88172645463325252);

void place_random_begin(uint64_t seed)
{
	random_state = seed * 2 + UINT64_C(88172645463325251);
}

uint32_t place_random(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % limit;
}

void place_add_nodes(struct clv_fleet *fleet, unsigned n, struct clv_fleet_node_spec spec)
{
	struct clv_error err = {0};

	for (unsigned i = 0; i < n; i++) {
		if (clv_fleet_add_node(fleet, &spec, &err) < 0) {
			fprintf(stderr, "%s\n", err.msg);
			abort();
		}
	}
}

struct clv_fleet *place_fleet_mixed(unsigned n_nodes)
{
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_fleet_scheme scheme = {.model = clv_mig_model_find("A100-40GB")};

	if (!fleet || !scheme.model || clv_fleet_add_scheme(fleet, &scheme) != 0)
		abort();
	for (unsigned i = 0; i < n_nodes; i++) {
		/* clang-format off */
		static const struct clv_fleet_node_spec kinds[] = {
			{.model = "A", .cpu_milli = 96000, .memory_mib = 400000, .n_devices = 8,
			 .device_mib = 40960, .n_numa = 2, .n_linked = 4},
			{.model = "B", .cpu_milli = 32000, .memory_mib = 100000, .n_devices = 2},
			{.model = "C", .cpu_milli = 64000, .memory_mib = 200000, .n_devices = 4,
			 .device_mib = 16384, .n_linked = 2},
			{.model = "A", .cpu_milli = 64000, .memory_mib = 200000, .n_devices = 4,
			 .device_mib = 40960, .scheme = 1},
			{.model = "D", .cpu_milli = 64000, .memory_mib = 200000},
		};
		/* clang-format on */
		place_add_nodes(fleet, 1, kinds[place_random(5)]);
	}
	return fleet;
}

static const uint16_t millis[] = {50, 100, 250, 300, 470, 500, 810, 1000, 1000, 1000};

static void make_profile(const struct clv_fleet *fleet, struct clv_place_request *request)
{
	request->n_devices = 1;
	request->scheme = 1;
	request->profile =
		(uint8_t)(1 +
			  place_random((uint32_t)fleet->schemes[0].model->n_profiles));
}

struct clv_place_request place_random_request(const struct clv_fleet *fleet)
{
	struct clv_place_request request = {
		.cpu_milli = 1000 * place_random(12),
		.memory_mib = 1000 * place_random(20),
		.class = (enum clv_class)place_random(_CLV_CLASS_MAX),
	};
	uint32_t kind = place_random(10);

	if (place_random(4) == 0)
		request.models = UINT64_C(1) << place_random(fleet->n_models) | 1;
	if (kind == 0)
		return request;
	if (kind == 1) {
		make_profile(fleet, &request);
		return request;
	}
	request.milli = millis[place_random(sizeof(millis) / sizeof(millis[0]))];
	request.n_devices = 1;
	if (request.milli == CLV_PLACE_WHOLE && place_random(3) == 0)
		request.n_devices = (uint8_t)(1u << place_random(4));
	if (place_random(3) == 0)
		request.device_mib = 1024 * place_random(20);
	request.same_numa = place_random(8) == 0;
	request.same_link = place_random(8) == 0;
	request.alone_in_class = place_random(16) == 0;
	return request;
}

struct clv_workload place_random_workload(const struct clv_fleet *fleet, unsigned n)
{
	struct clv_workload workload = {0};

	for (unsigned i = 0; i < n; i++) {
		struct clv_place_request request = place_random_request(fleet);

		if (clv_workload_add(&workload, &request, 1 + place_random(5)) < 0)
			abort();
	}
	clv_workload_cut(&workload, 95);
	return workload;
}
