/* SPDX-License-Identifier: Apache-2.0 */
/* The status of GPUs for virtual machines, and their partitions. */
#include "bridge/libvirt/domain/gpus.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define UUID "6d5f8a2c-9b1e-4c38-8f57-0a1b2c3d4e5f"
#define PCI "\"pci_address\": \"0000:3b:00.0\", "

/* The devices that the agent knows. */
static const char devices_text[] =
	"{\"items\": [{\"name\": \"gpu0\", \"uuid\": \"GPU-0\", \"model\": \"L40S\","
	" \"memory_bytes\": 100}, {\"name\": \"gpu1\"}]}";

static json_t *gpus_of(const char *device, const char *leases_text)
{
	json_t *node = json_pack("{s:[o]}", "devices", json_loads(device, 0, NULL));
	json_t *devices = json_loads(devices_text, 0, NULL);
	json_t *leases = json_loads(leases_text, 0, NULL);
	json_t *gpus;

	assert_true(node && devices && leases);
	gpus = clv_vm_gpus(node, devices, leases);
	json_decref(devices);
	json_decref(node);
	json_decref(leases);
	return gpus;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* Each of the agent's words has a text. */
static void test_status(void **state)
{
	static const char *const words[] = {"whole", "partitioned", "sriov_off", "none"};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(words); i++) {
		char text[256];
		json_t *gpus, *gpu;

		snprintf(text, sizeof(text),
			"{\"name\": \"gpu0\", \"type\": \"gpu\", \"assignable\": \"%s\", "
			"\"why_not_assignable\": \"its driver offers none\"}",
			words[i]);
		gpus = gpus_of(text, "{}");
		gpu = json_array_get(gpus, 0);
		assert_string_equal(text_of(gpu, "status"), words[i]);
		assert_string_equal(text_of(gpu, "why"), "its driver offers none");
		assert_true(clv_vm_gpu_status_text(words[i])[0] != '\0');
		json_decref(gpus);
	}
	assert_string_equal(clv_vm_gpu_status_text("else"), "");
}

static void test_details(void **state)
{
	json_t *gpus = gpus_of(
		"{\"name\": \"gpu0\", \"type\": \"gpu\", " PCI
		"\"scheme\": \"vf\", \"memory_bytes\": 100,"
		" \"engines\": {\"encode\": 3, \"decode\": null},"
		" \"vf\": {\"total\": 8, \"counts\": 138, \"capable\": true},"
		" \"partitions\": [{\"name\": \"gpu0/vf:2@1\", \"profile\": \"vf:2\","
		"   \"address\": \"0000:3b:00.1\", \"memory_bytes\": 40,"
		"   \"holders\": [{\"text\": \"virtual machine a\"}]},"
		"  {\"name\": \"gpu0/vf:2@2\", \"memory_bytes\": 40, \"holders\": []}]}",
		"{\"items\": [{\"device\": \"gpu0/vf:2@1\", \"command\": \"a\","
		"  \"holder\": \"vm:" UUID "\"}, {\"device\": \"gpu0/vf:2@2\"}]}");
	const json_t *gpu = json_array_get(gpus, 0);
	const json_t *partitions = json_object_get(gpu, "partitions");
	char *counts = json_dumps(json_object_get(gpu, "counts"), JSON_COMPACT);

	assert_string_equal(counts, "[2,4,8]");
	free(counts);
	assert_int_equal(json_integer_value(json_object_get(gpu, "count")), 2);
	assert_int_equal(json_integer_value(json_object_get(gpu, "free_bytes")), 40);
	assert_int_equal(json_integer_value(json_object_get(gpu, "encoders")), 3);
	assert_true(json_is_null(json_object_get(gpu, "decoders")));
	assert_string_equal(text_of(json_array_get(partitions, 0), "vm"), UUID);
	assert_string_equal(text_of(json_array_get(partitions, 0), "vm_name"), "a");
	assert_true(json_is_null(json_object_get(json_array_get(partitions, 1), "vm")));
	json_decref(gpus);
}

/* A machine that has it as a whole. */
static void test_whole(void **state)
{
	json_t *gpus = gpus_of("{\"name\": \"gpu0\", " PCI
			       "\"scheme\": \"none\", \"memory_bytes\": 100,"
			       " \"assignable\": \"none\","
			       " \"why_not_assignable\": \"it is in use\"}",
		"{\"items\": [{\"device\": \"gpu0\", \"command\": \"a\","
		"  \"holder\": \"vm:" UUID "\"}]}");
	const json_t *gpu = json_array_get(gpus, 0);

	assert_string_equal(text_of(gpu, "vm"), UUID);
	assert_string_equal(text_of(gpu, "vm_name"), "a");
	assert_true(json_is_null(json_object_get(gpu, "why")));
	assert_int_equal(json_integer_value(json_object_get(gpu, "free_bytes")), 0);
	json_decref(gpus);
}

#define PASSED                                                                         \
	"{\"items\": [{\"device\": \"gpu0\", \"command\": \"a\", \"partition\": null," \
	" \"holder\": \"vm:" UUID "\", \"devices\": [{\"name\": \"gpu0\"," PCI         \
	" \"uuid\": \"GPU-0\"}]}]}"

static void check_passed(json_t *gpus, size_t n)
{
	const json_t *gpu = json_array_get(gpus, n - 1);

	assert_int_equal(json_array_size(gpus), n);
	assert_string_equal(text_of(gpu, "name"), "gpu0");
	assert_string_equal(text_of(gpu, "pci_address"), "0000:3b:00.0");
	assert_string_equal(text_of(gpu, "model"), "L40S");
	assert_string_equal(text_of(gpu, "vm_name"), "a");
	assert_int_equal(json_integer_value(json_object_get(gpu, "memory_bytes")), 100);
	assert_int_equal(json_integer_value(json_object_get(gpu, "free_bytes")), 0);
	assert_int_equal(json_array_size(json_object_get(gpu, "partitions")), 0);
	assert_true(json_is_null(json_object_get(gpu, "why")));
	json_decref(gpus);
}

/* While the machine runs its driver does not show it. */
static void test_passed(void **state)
{
	check_passed(gpus_of("{\"name\": \"gpu1\", \"type\": \"gpu\"}", PASSED), 2);
}

/* sysfs does, with another name. */
static void test_passed_by_another_name(void **state)
{
	check_passed(gpus_of("{\"name\": \"gpu8\", \"uuid\": \"pci-0000:3b:00.0\", " PCI
			     "\"scheme\": \"none\", \"model\": \"L40S\","
			     " \"assignable\": \"none\"}",
			     PASSED),
		1);
}

static void test_no_processor(void **state)
{
	json_t *gpus = gpus_of("{\"name\": \"cpu0\", \"type\": \"cpu\"}", "{}");

	assert_int_equal(json_array_size(gpus), 0);
	json_decref(gpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_details),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_passed),
		cmocka_unit_test(test_passed_by_another_name),
		cmocka_unit_test(test_no_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
