/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of fragmentation, compared with the definition. */
#include "place-world.h"

#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/frag.h"
#include "core/place/pick.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_ROUNDS 300
#define N_LEASES 40

static bool has_memory(const struct clv_workload *workload)
{
	for (size_t i = 0; i < workload->n_shapes; i++) {
		const struct clv_workload_shape *shape = &workload->shapes[i];

		if (shape->n_devices > 0 && !shape->profile && shape->device_mib > 0)
			return true;
	}
	return false;
}

static bool takes_units(const struct clv_fleet *fleet,
	const struct clv_fleet_device *device, const struct clv_workload_shape *shape)
{
	const struct clv_mig_profile *profile =
		&fleet->schemes[shape->scheme - 1].model->profiles[shape->profile - 1];

	for (unsigned i = 0; i < profile->n_starts; i++) {
		if (!(device->units & ((1u << profile->size) - 1) << profile->starts[i]))
			return true;
	}
	return false;
}

static bool device_takes(const struct clv_fleet *fleet, const struct clv_fleet_node *node,
	const struct clv_fleet_device *device, const struct clv_workload_shape *shape)
{
	if (shape->profile)
		return device->scheme == shape->scheme &&
		       takes_units(fleet, device, shape);
	return shape->n_devices > 0 && device->scheme == 0 &&
	       node->free_cpu_milli >= shape->cpu_milli &&
	       (!shape->models || shape->models >> node->model & 1) &&
	       device->free_milli >= shape->milli &&
	       (device->memory_mib == 0 || device->free_mib >= shape->device_mib);
}

static int64_t amount_of(const struct clv_fleet_device *device, bool with_memory)
{
	if (!with_memory || device->memory_mib == 0 || device->scheme)
		return device->free_milli;
	return (device->free_milli +
		       (int64_t)device->free_mib * CLV_PLACE_WHOLE / device->memory_mib) /
	       2;
}

static int64_t stranded(const struct clv_workload *workload,
	const struct clv_fleet *fleet, const struct clv_fleet_node *node)
{
	const struct clv_fleet_device *devices = &fleet->devices[node->first_device];
	bool with_memory = has_memory(workload);
	int64_t sum = 0;

	for (size_t k = 0; k < workload->n_shapes; k++) {
		const struct clv_workload_shape *shape = &workload->shapes[k];
		int64_t lost = 0, all = 0;
		unsigned n = 0;

		for (unsigned i = 0; i < node->n_devices; i++) {
			int64_t amount = amount_of(&devices[i], with_memory);
			bool does = device_takes(fleet, node, &devices[i], shape);

			n += does;
			all += amount;
			lost += does ? 0 : amount;
		}
		sum += (int64_t)shape->weight *
		       (n >= shape->n_devices && n > 0 ? lost : all);
	}
	return sum;
}

static void check_options(const struct clv_frag *frag,
	const struct clv_workload *workload, struct clv_fleet *fleet, uint32_t number,
	const struct clv_place_request *request)
{
	struct clv_frag_option options[CLV_FRAG_OPTIONS_MAX];
	int64_t before = stranded(workload, fleet, &fleet->nodes[number]);
	unsigned n =
		clv_frag_options(frag, fleet, &fleet->nodes[number], request, options);

	assert_in_range(n, 1, CLV_FRAG_OPTIONS_MAX);
	for (unsigned i = 0; i < n; i++) {
		struct clv_place_at at = {.node = number,
			.devices = options[i].devices,
			.start = options[i].start};
		uint32_t lease;

		assert_int_equal(clv_fleet_take(fleet, request, &at, &lease), 0);
		assert_int_equal(options[i].gain,
			before - stranded(workload, fleet, &fleet->nodes[number]));
		assert_int_equal(clv_fleet_release(fleet, lease), 0);
	}
}

static void fill_a_little(struct clv_fleet *fleet)
{
	for (unsigned i = 0; i < N_LEASES; i++) {
		struct clv_place_request request = place_random_request(fleet);
		struct clv_place_at at = {.node = place_random(fleet->n_nodes)};
		uint32_t lease;

		if (!clv_fit_node(fleet, &fleet->nodes[at.node], &request))
			continue;
		clv_pick_devices(fleet, &fleet->nodes[at.node], &request,
			(enum clv_pick)place_random(3), &at);
		assert_int_equal(clv_fleet_take(fleet, &request, &at, &lease), 0);
	}
}

static void test_tables(void **state)
{
	for (unsigned round = 0; round < N_ROUNDS; round++) {
		struct clv_fleet *fleet = place_fleet_mixed(6);
		struct clv_workload workload = place_random_workload(fleet, 30);
		struct clv_frag *frag = clv_frag_new(fleet, &workload);

		assert_non_null(frag);
		fill_a_little(fleet);
		for (uint32_t i = 0; i < fleet->n_nodes; i++) {
			struct clv_place_request request = place_random_request(fleet);

			assert_int_equal(clv_frag_node(frag, fleet, &fleet->nodes[i]),
				stranded(&workload, fleet, &fleet->nodes[i]));
			if (request.n_devices > 0 &&
				clv_fit_node(fleet, &fleet->nodes[i], &request))
				check_options(frag, &workload, fleet, i, &request);
		}
		clv_frag_free(frag);
		clv_workload_done(&workload);
		clv_fleet_free(fleet);
	}
}

static void test_most_frequent_first(void **state)
{
	struct clv_place_request often = {.cpu_milli = 1, .milli = 500, .n_devices = 1};
	struct clv_place_request rare = {.cpu_milli = 2, .milli = 1000, .n_devices = 1};
	struct clv_workload workload = {0};

	assert_int_equal(clv_workload_add(&workload, &rare, 4), 0);
	for (unsigned i = 0; i < 96; i++)
		assert_int_equal(clv_workload_add(&workload, &often, 1), 0);
	clv_workload_cut(&workload, 95);
	assert_int_equal(workload.n_shapes, 1);
	assert_int_equal(workload.shapes[0].weight, 96);
	assert_int_equal(workload.shapes[0].milli, 500);
	clv_workload_done(&workload);
}

static void test_nothing_is_asked_for(void **state)
{
	struct clv_workload workload = {0};
	struct clv_fleet *fleet = place_fleet_mixed(3);
	struct clv_frag *frag;

	clv_workload_cut(&workload, 95);
	frag = clv_frag_new(fleet, &workload);
	assert_non_null(frag);
	assert_int_equal(clv_frag_weight(frag), 1);
	clv_frag_free(frag);
	clv_fleet_free(fleet);
}

/* With any number of shapes: the common ones are stored, and all are counted. */
static void test_many_shapes(void **state)
{
	struct clv_workload workload = {0};
	struct clv_fleet *fleet = place_fleet_mixed(4);
	struct clv_frag *frag;
	uint64_t n = 0;

	for (uint32_t i = 0; i < 400000; i++) {
		struct clv_place_request request = {
			.cpu_milli = i % 8 == 0 ? 4000 : i,
			.device_mib = i % 8 == 0 ? 0 : i % 977,
			.milli = (uint16_t)(i % 8 == 0 ? 500 : 1 + i % 1000),
			.n_devices = 1,
		};

		assert_int_equal(clv_workload_add(&workload, &request, 1), 0);
		n++;
		assert_in_range(workload.n_shapes, 1, CLV_WORKLOAD_COUNTED_MAX);
	}
	assert_true(workload.weight == n);
	clv_workload_cut(&workload, 95);
	assert_int_equal(workload.n_shapes, CLV_WORKLOAD_TYPICAL_MAX);
	assert_int_equal(workload.shapes[0].cpu_milli, 4000);
	assert_int_equal(workload.shapes[0].weight, 50000);
	frag = clv_frag_new(fleet, &workload);
	assert_non_null(frag);
	clv_frag_free(frag);
	clv_workload_done(&workload);
	clv_fleet_free(fleet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_shapes),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_most_frequent_first),
		cmocka_unit_test(test_nothing_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
