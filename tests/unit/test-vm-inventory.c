/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's objects, read: partitions by each framework, and leases of machines. */
#include "bridge/libvirt/domain/inventory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define UUID "6d5f8a2c-9b1e-4c38-8f57-0a1b2c3d4e5f"

static const char node_text[] =
	"{\"name\": \"host1\", \"devices\": ["
	" {\"name\": \"gpu0\", \"scheme\": \"none\", \"vf\": {\"framework\": \"pci\"}},"
	" {\"name\": \"gpu1\", \"scheme\": \"mig\", \"partitions\": [{\"name\": \"x\"}]},"
	" {\"name\": \"gpu2\", \"scheme\": \"vf\", \"vf\": {\"framework\": \"xe\","
	"   \"functions\": [{\"address\": \"0000:01:00.1\", \"iommu_group\": 7},"
	"                 {\"address\": \"0000:01:00.2\", \"iommu_group\": -1}]},"
	"  \"partitions\": [{\"name\": \"gpu2/vf:2@1\", \"profile\": \"vf:2\","
	"    \"address\": \"0000:01:00.1\", \"memory_bytes\": 1024,"
	"    \"holders\": [{\"text\": \"virtual machine a\"}]},"
	"   {\"name\": \"gpu2/vf:2@2\", \"profile\": \"vf:2\","
	"    \"address\": \"0000:01:00.2\", \"memory_bytes\": 1024, \"holders\": []}]},"
	" {\"name\": \"gpu3\", \"scheme\": \"vf\", \"vf\": {\"framework\": \"vgpu-vfio\","
	"   \"functions\": [{\"address\": \"0000:02:00.1\","
	"     \"quota\": {\"type\": \"NVIDIA L40S-4Q\"}},"
	"    {\"address\": \"0000:02:00.2\", \"quota\": {\"type\": \"\"}}]},"
	"  \"partitions\": [{\"name\": \"gpu3/vf:2@1\", \"address\": \"0000:02:00.1\"},"
	"   {\"name\": \"gpu3/vf:2@2\", \"address\": \"0000:02:00.2\"}]},"
	" {\"name\": \"gpu4\", \"scheme\": \"vf\", \"vf\": {\"framework\": "
	"\"vgpu-mdev\"},"
	"  \"partitions\": [{\"name\": \"gpu4/vf:2@1\", \"address\": \"0000:03:00.1\","
	"    \"uuid\": \"" UUID "\"},"
	"   {\"name\": \"gpu4/vf:2@2\", \"address\": \"0000:03:00.2\", \"uuid\": \"\"}]}"
	"]}";
static const char leases_text[] =
	"{\"items\": ["
	" {\"id\": \"l1\", \"device\": \"gpu0\", \"holder\": null},"
	" {\"id\": \"l2\", \"device\": \"gpu2/vf:2@1\", \"command\": \"a\","
	"  \"holder\": \"vm:" UUID "\"},"
	" {\"id\": \"l3\", \"device\": \"gpu0\", \"holder\": \"vm:short\"},"
	" {\"id\": \"l4\", \"device\": \"gpu0\"}]}";

static void test_read(void **state)
{
	_cleanup_inventory_ struct clv_vm_inventory inventory = {0};
	json_t *node = json_loads(node_text, 0, NULL);
	json_t *leases = json_loads(leases_text, 0, NULL);
	const struct clv_vm_partition *p;

	assert_true(node && leases);
	assert_int_equal(clv_vm_inventory_read(node, NULL, leases, &inventory), 0);
	json_decref(node);
	json_decref(leases);
	assert_string_equal(inventory.node, "host1");
	assert_int_equal(inventory.n_partitions, 6);
	p = &inventory.partitions[0];
	assert_string_equal(p->name, "gpu2/vf:2@1");
	assert_string_equal(p->device, "gpu2");
	assert_string_equal(p->address, "0000:01:00.1");
	assert_int_equal(p->means, CLV_VM_PCI);
	assert_int_equal(p->memory_bytes, 1024);
	assert_true(p->is_held && p->why_not[0] == '\0');
	assert_string_equal(p->holder, "virtual machine a");
	assert_true(!p[1].is_held && strstr(p[1].why_not, "IOMMU"));
	assert_int_equal(p[2].means, CLV_VM_VENDOR);
	assert_string_equal(p[2].why_not, "");
	assert_non_null(strstr(p[3].why_not, "vGPU type"));
	assert_int_equal(p[4].means, CLV_VM_MDEV);
	assert_string_equal(p[4].address, UUID);
	assert_non_null(strstr(p[5].why_not, "mdev"));

	assert_int_equal(inventory.n_leases, 1);
	assert_string_equal(inventory.leases[0].id, "l2");
	assert_string_equal(inventory.leases[0].vm, UUID);
	assert_ptr_equal(clv_vm_find_partition(&inventory, "gpu2/vf:2@1"), p);
	assert_ptr_equal(clv_vm_partition_at(&inventory, UUID), p + 4);
	assert_null(clv_vm_partition_at(&inventory, ""));
	assert_ptr_equal(clv_vm_lease_by_id(&inventory, "l2"), inventory.leases);
	assert_ptr_equal(clv_vm_lease_on(&inventory, "gpu2/vf:2@1"), inventory.leases);
	assert_null(clv_vm_lease_on(&inventory, "gpu2/vf:2@2"));
}

static void test_cordoned(void **state)
{
	_cleanup_inventory_ struct clv_vm_inventory inventory = {0};
	json_t *node = json_loads(node_text, 0, NULL);
	json_t *devices = json_pack("{s:[{s:s,s:b},{s:s,s:b}]}", "items", "name", "gpu2",
		"cordoned", 0, "name", "gpu3", "cordoned", 1);

	assert_int_equal(clv_vm_inventory_read(node, devices, NULL, &inventory), 0);
	assert_string_equal(inventory.partitions[0].why_not, "");
	assert_string_equal(inventory.partitions[2].why_not, "gpu3 is cordoned");
	json_decref(node);
	json_decref(devices);
}

/* clang-format off */
#define DEVICE(name, address, rest)                                             \
	"{\"name\": \"" name "\", \"pci_address\": \"" address "\","            \
	" \"model\": \"L40S\", \"memory_bytes\": 64, " rest "}"
#define LEASE(id, name, address)                                                \
	"{\"id\": \"" id "\", \"device\": \"" name "\","                        \
	" \"holder\": \"vm:" UUID "\", \"partition\": null, \"command\": \"w\"," \
	" \"devices\":"                                                         \
	" [{\"name\": \"" name "\", \"pci_address\": \"" address "\"}]}"

static const char whole_node[] =
	"{\"devices\": ["
	DEVICE("cpu0", "", "\"scheme\": \"none\"") ","
	DEVICE("gpu1", "0000:02:00.0", "\"scheme\": \"none\"") ","
	DEVICE("gpu3", "0000:04:00.0", "\"scheme\": \"mig\","
		" \"assignable\": \"none\", \"why_not_assignable\": \"it is divided\"") ","
	DEVICE("gpu4", "0000:05:00.0", "\"scheme\": \"none\","
		" \"assignable\": \"none\", \"holders\": [{\"text\": \"process 7\"}]") ","
	DEVICE("gpu5", "0000:06:00.0", "\"scheme\": \"none\"") ","
	/* An agent that says nothing of the instances. */
	DEVICE("gpu6", "0000:07:00.0", "\"scheme\": \"mig\","
		" \"assignable\": \"sriov_off\", \"why_not_assignable\": \"off\"") ","
	DEVICE("gpu7", "0000:08:00.0", "\"scheme\": \"none\","
		" \"assignable\": \"sriov_off\", \"why_not_assignable\": \"off\","
		" \"partitions\": [{\"name\": \"gpu7/0\"}]") ","
	DEVICE("gpu8", "0000:09:00.0", "\"scheme\": \"none\","
		" \"assignable\": \"sriov_off\", \"why_not_assignable\": \"off\"") ","
	/* gpu0, as sysfs shows it while its driver does not. */
	DEVICE("gpu9", "0000:01:00.0", "\"scheme\": \"none\","
		" \"assignable\": \"sriov_off\", \"why_not_assignable\": \"off\"") ","
	DEVICE("gpu10", "0000:0a:00.0", "\"scheme\": \"none\"") ","
	DEVICE("gpu11", "0000:0b:00.0", "\"scheme\": \"none\"") "]}";
static const char whole_devices[] =
	"{\"items\": ["
	DEVICE("gpu0", "", "\"health\": {\"state\": \"ok\"}, \"share_promised\": 1.0") ","
	DEVICE("gpu2", "", "\"health\": {\"state\": \"lost\"}") ","
	DEVICE("gpu5", "", "\"share_promised\": 1.0") "]}";
static const char whole_leases[] =
	"{\"items\": [" LEASE("l1", "gpu0", "0000:01:00.0") ","
	LEASE("l2", "gpu2", "0000:03:00.0") ","
	"{\"id\": \"l3\", \"name\": \"train\", \"device\": \"gpu12\", \"state\": \"active\","
	" \"tenant\": \"bob\","
	" \"holder\": null, \"devices\": [{\"pci_address\": \"0000:0a:00.0\"}]},"
	"{\"id\": \"l4\", \"name\": \"wait\", \"device\": \"gpu11\", \"state\": \"queued\","
	" \"holder\": null, \"devices\": [{\"pci_address\": \"0000:0b:00.0\"}]},"
	"{\"id\": \"l5\", \"name\": \"vm1\", \"device\": \"gpu8\", \"state\": \"active\","
	" \"kept\": true, \"in\": \"gpu8/pool\","
	" \"holder\": null, \"devices\": [{\"pci_address\": \"0000:09:00.0\"}]}]}";
/* clang-format on */

/* The GPUs of gpu0's lease and of gpu2's are not there: a machine has one, the other is
 * lost. */
static void test_whole(void **state)
{
	_cleanup_inventory_ struct clv_vm_inventory inventory = {0};
	json_t *objects[] = {json_loads(whole_node, 0, NULL),
		json_loads(whole_devices, 0, NULL), json_loads(whole_leases, 0, NULL)};
	const struct clv_vm_partition *p;

	assert_true(objects[0] && objects[1] && objects[2]);
	assert_int_equal(
		clv_vm_inventory_read(objects[0], objects[1], objects[2], &inventory), 0);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(objects); i++)
		json_decref(objects[i]);
	assert_int_equal(inventory.n_partitions, 11);
	p = &inventory.partitions[0];
	assert_string_equal(p->name, "gpu1");
	assert_string_equal(p->device, "gpu1");
	assert_string_equal(p->profile, CLV_VM_WHOLE);
	assert_string_equal(p->address, "0000:02:00.0");
	assert_true(p->is_whole && !p->is_held && p->why_not[0] == '\0');
	assert_int_equal(p->memory_bytes, 64);
	assert_string_equal(p[1].why_not, "it is divided");
	assert_true(p[2].is_held);
	assert_string_equal(p[2].holder, "process 7");
	assert_non_null(strstr(p[3].why_not, "standing share"));
	assert_non_null(strstr(p[4].why_not, "divided"));
	assert_non_null(strstr(p[5].why_not, "divided"));
	assert_string_equal(p[6].why_not, "");
	assert_string_equal(p[6].pool_vm, "vm1");
	assert_true(p[6].is_held && p[6].user[0] == '\0');
	assert_string_equal(p[2].user, "process 7");
	assert_string_equal(p[8].user, "lease train of bob");
	assert_true(p[10].user[0] == '\0' && p[10].pool_vm[0] == '\0');
	assert_true(p[7].is_held && p[8].is_held && !p[9].is_held);
	assert_string_equal(p[7].holder, "virtual machine w as gpu0");
	assert_string_equal(p[8].holder, "lease train of bob as gpu12");
	assert_string_equal(p[10].name, "gpu0");
	assert_string_equal(p[10].address, "0000:01:00.0");
	assert_string_equal(p[10].model, "L40S");
	assert_true(p[10].is_held && p[10].is_whole);
	assert_ptr_equal(clv_vm_partition_at(&inventory, "0000:01:00.0"), p + 10);
	assert_null(clv_vm_find_partition(&inventory, "gpu2"));
}

/* Members of other types are as if they were missing. */
static void test_other_types(void **state)
{
	static const char *const texts[] = {"{}", "[]", "1", "{\"devices\": 1}",
		("{\"devices\": [1, {\"scheme\": \"vf\", \"partitions\": [1, {\"name\": "
		 "2}]}]}")};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(texts); i++) {
		_cleanup_inventory_ struct clv_vm_inventory inventory = {0};
		json_t *node = json_loads(texts[i], JSON_DECODE_ANY, NULL);

		assert_int_equal(clv_vm_inventory_read(node, node, node, &inventory), 0);
		assert_int_equal(inventory.n_leases, 0);
		json_decref(node);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_cordoned),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_other_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
