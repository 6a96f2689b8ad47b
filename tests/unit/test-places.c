/* SPDX-License-Identifier: Apache-2.0 */
/* The extender's record of nodes and of pods in progress, on a virtual clock. */
#include "base/error.h"
#include "bridge/extender/places.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define AT_THE_END CLV_PLACES_HELD_NS

/* A list of one node with one device that reports this much as free. */
static json_t *nodes_of(unsigned free_milli, unsigned version)
{
	char devices[128], text[16];

	snprintf(devices, sizeof(devices),
		"[{\"memory_mib\": 1000, \"free_mib\": %u, \"free_milli\": %u}]",
		free_milli, free_milli);
	snprintf(text, sizeof(text), "%u", version);
	return json_pack("[{s:{s:s,s:s,s:{s:s}}}]", "metadata", "name", "n1",
		"resourceVersion", text, "annotations", CLV_PLACES_ANNOTATION, devices);
}

/* The same with two devices, of which the first is announced if it takes leases. */
static json_t *two_devices(unsigned first_milli, unsigned second_milli, unsigned version)
{
	json_t *nodes = nodes_of(0, version);
	json_t *annotations = json_object_get(
		json_object_get(json_array_get(nodes, 0), "metadata"), "annotations");
	char devices[256];
	int n = snprintf(devices, sizeof(devices), "[");

	if (first_milli > 0)
		n += snprintf(devices + n, sizeof(devices) - (size_t)n,
			"{\"name\": \"gpu0\", \"memory_mib\": 1000, \"free_mib\": %u, "
			"\"free_milli\": %u}, ",
			first_milli, first_milli);
	snprintf(devices + n, sizeof(devices) - (size_t)n,
		"{\"name\": \"gpu1\", \"memory_mib\": 1000, \"free_mib\": %u, "
		"\"free_milli\": %u}]",
		second_milli, second_milli);
	json_object_set_new(annotations, CLV_PLACES_ANNOTATION, json_string(devices));
	return nodes;
}

static struct clv_pod pod_of(const char *uid, uint16_t milli)
{
	struct clv_pod pod = {.n_requests = 1};

	snprintf(pod.uid, sizeof(pod.uid), "%s", uid);
	pod.requests[0] = (struct clv_place_request){.milli = milli, .n_devices = 1};
	return pod;
}

static bool fits_on(
	struct clv_places *places, const char *uid, json_t *nodes, uint64_t now_ns)
{
	const struct clv_pod pod = pod_of(uid, 600);
	struct clv_verdict verdict;

	assert_int_equal(
		clv_places_judge(places, nodes, &pod, now_ns, &verdict, NULL), 0);
	json_decref(nodes);
	return verdict.fits;
}

static bool fits(struct clv_places *places, const char *uid, unsigned free_milli,
	unsigned version, uint64_t now_ns)
{
	return fits_on(places, uid, nodes_of(free_milli, version), now_ns);
}

static int set_up(void **state)
{
	struct clv_places *places = clv_places_new();

	*state = places;
	assert_true(fits(places, "one", 1000, 1, 0));
	return clv_places_hold(places, "one", "n1", 0, NULL);
}

static int tear_down(void **state)
{
	clv_places_free(*state);
	return 0;
}

/* While the node announces nothing, it may run the pod: only after a long time has the
 * pod failed. */
static void test_held_while_nothing_is_announced(void **state)
{
	assert_false(fits(*state, "two", 1000, 1, AT_THE_END));
	assert_false(fits(*state, "two", 1000, 7, CLV_PLACES_UNHEARD_NS - 1));
	assert_int_equal(
		clv_places_hold(*state, "two", "n1", CLV_PLACES_UNHEARD_NS - 1, NULL),
		-ENOSPC);
	assert_true(fits(*state, "two", 1000, 7, CLV_PLACES_UNHEARD_NS));
	assert_int_equal(
		clv_places_hold(*state, "two", "n1", CLV_PLACES_UNHEARD_NS, NULL), 0);
}

/* A pod that does not start loses its place some time after the node has announced
 * something else. */
static void test_held_for_so_long(void **state)
{
	assert_false(fits(*state, "two", 900, 2, AT_THE_END));
	assert_false(fits(*state, "two", 1000, 3, 2 * AT_THE_END - 1));
	assert_true(fits(*state, "two", 1000, 3, 2 * AT_THE_END));
}

/* A pod that the node reports is not counted again. */
static void test_until_the_node_knows(void **state)
{
	assert_false(fits(*state, "two", 400, 2, 1));
	assert_true(fits(*state, "two", 1000, 3, 2));
}

/* An older answer has no effect. */
static void test_older_answer(void **state)
{
	assert_false(fits(*state, "two", 500, 5, 1));
	assert_false(fits(*state, "two", 1000, 4, AT_THE_END + 1));
	assert_true(fits(*state, "two", 1000, 6, AT_THE_END + 1));
}

/* A device that takes no leases is not announced: those behind it keep what is held. */
static void test_device_in_another_place(void **state)
{
	struct clv_places *places = clv_places_new();

	assert_true(fits_on(places, "one", two_devices(100, 1000, 1), 0));
	assert_int_equal(clv_places_hold(places, "one", "n1", 0, NULL), 0);
	assert_false(fits_on(places, "two", two_devices(0, 1000, 2), 1));
	assert_false(fits_on(places, "two", two_devices(100, 1000, 3), 2));
	assert_false(fits_on(places, "two", two_devices(0, 400, 4), 3));
	assert_true(fits_on(places, "two", two_devices(100, 1000, 5), 4));
	clv_places_free(places);
	(void)state;
}

static void list_pod(struct clv_places *places, const char *uid, uint64_t now_ns)
{
	static const struct clv_pod_resources resources = {"share", "memory", 1};
	json_t *pod = json_pack("{s:{s:s,s:s,s:{s:s}},s:{s:s,s:[{s:s,s:{s:{s:s}}}]}}",
		"metadata", "name", uid, "uid", uid, "annotations",
		CLV_PLACES_POD_ANNOTATION,
		"[{\"container\": 0, \"device\": \"\", \"milli\": 600, \"mib\": 600, "
		"\"free\": 1000}]",
		"spec", "nodeName", "n1", "containers", "name", "c", "resources",
		"limits", "share", "60");

	assert_non_null(pod);
	clv_places_begin_pods(places);
	clv_places_adopt(places, pod, &resources, now_ns);
	clv_places_end_pods(places);
	json_decref(pod);
}

/* A node that was away for an hour may have started the pod, as long as the API server
 * does not know better. */
static void test_node_that_was_away(void **state)
{
	const uint64_t hour_ns = UINT64_C(3600) * 1000000000;

	list_pod(*state, "one", 1);
	assert_false(fits(*state, "two", 1000, 1, hour_ns));
	assert_int_equal(clv_places_hold(*state, "two", "n1", hour_ns, NULL), -ENOSPC);
	assert_false(fits(*state, "two", 900, 3, hour_ns));
	assert_true(fits(*state, "two", 900, 3, hour_ns + AT_THE_END));
}

static void test_pod_that_is_gone(void **state)
{
	list_pod(*state, "one", 1);
	clv_places_forget(*state, "one");
	assert_false(fits(*state, "two", 1000, 1, CLV_PLACES_UNHEARD_NS - 1));
	assert_true(fits(*state, "two", 1000, 1, CLV_PLACES_UNHEARD_NS));
}

/* Another extender's pod is held as if it had been bound here. */
static void test_adopted(void **state)
{
	struct clv_places *places = clv_places_new();

	assert_true(fits(places, "two", 1000, 1, 0));
	list_pod(places, "one", 1);
	assert_false(fits(places, "two", 1000, 1, 2));
	list_pod(places, "one", 3);
	assert_false(fits(places, "two", 1000, 2, 4));
	assert_false(fits(places, "two", 400, 3, 5));
	assert_true(fits(places, "two", 1000, 4, 6));
	list_pod(places, "one", 7);
	assert_true(fits(places, "two", 1000, 4, 8));
	clv_places_free(places);
	(void)state;
}

static void test_release(void **state)
{
	clv_places_release(*state, "one");
	assert_true(fits(*state, "two", 1000, 1, 1));
	assert_int_equal(clv_places_hold(*state, "nobody", "n1", 1, NULL), -ENOENT);
	assert_int_equal(clv_places_hold(*state, "two", "n2", 1, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_held_while_nothing_is_announced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_held_for_so_long, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_until_the_node_knows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_older_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_release, set_up, tear_down),
		cmocka_unit_test(test_device_in_another_place),
		cmocka_unit_test_setup_teardown(
			test_node_that_was_away, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pod_that_is_gone, set_up, tear_down),
		cmocka_unit_test(test_adopted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
