/* SPDX-License-Identifier: Apache-2.0 */
/* What the vendors' CDI files and folders of a machine have for a lease's devices. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/paths.h"
#include "bridge/cdi/driver.h"
#include "bridge/cdi/soname.h"
#include "bridge/cdi/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define GPU "GPU-00000000-0000-0000-0000-00000000000a"
#define MIG "MIG-00000000-0000-0000-0000-00000000000b"

static char folder[] = "/tmp/cleave-cdi-XXXXXX";

/* Writes a file below the test's folder; its folders are made. */
static void put(const char *path, const char *text)
{
	char name[512], parent[512];
	FILE *file;

	snprintf(name, sizeof(name), "%s/%s", folder, path);
	snprintf(parent, sizeof(parent), "%s", name);
	*strrchr(parent, '/') = '\0';
	assert_int_equal(clv_path_make(parent, 0755, NULL), 0);
	file = fopen(name, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static const char *below(const char *path)
{
	static char name[512];

	snprintf(name, sizeof(name), "%s/%s", folder, path);
	return name;
}

static void set_folder(const char *variable, const char *path)
{
	setenv(variable, below(path), 1);
}

static int begin(void **state)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	assert_non_null(mkdtemp(folder));
	set_folder("CLEAVE_PROCFS", "proc");
	set_folder("CLEAVE_SYSFS", "sys");
	return 0;
}

static int end(void **state)
{
	char command[512];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static void get_edits(
	struct clv_cdi_driver *driver, const char *devices, const char *sm, json_t **ret)
{
	json_t *lease = json_object();
	struct clv_error err = {};

	json_object_set_new(lease, "devices", json_loads(devices, 0, NULL));
	json_object_set_new(lease, "sm", sm ? json_loads(sm, 0, NULL) : json_null());
	if (clv_cdi_driver_edits(driver, lease, ret, &err) < 0)
		fail_msg("%s", err.msg);
	json_decref(lease);
}

static int fail_edits(struct clv_cdi_driver *driver, const char *devices, char *ret)
{
	json_t *lease = json_object(), *edits = NULL;
	struct clv_error err = {};
	int r;

	json_object_set_new(lease, "devices", json_loads(devices, 0, NULL));
	r = clv_cdi_driver_edits(driver, lease, &edits, &err);
	assert_null(edits);
	strcpy(ret, err.msg);
	json_decref(lease);
	return r;
}

/* The values of a key in a list, joined by spaces. */
static const char *join(const json_t *edits, const char *list, const char *key)
{
	static char text[4096];
	const json_t *item;
	size_t i;

	text[0] = '\0';
	json_array_foreach (json_object_get(edits, list), i, item) {
		const json_t *value = key ? json_object_get(item, key) : item;

		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			i == 0 ? "" : " ", json_string_value(value));
	}
	return text;
}

static struct clv_cdi_driver *new_driver(const char *root, const char *specs)
{
	struct clv_cdi_driver *driver = NULL;

	assert_int_equal(clv_cdi_driver_new(root, specs, &driver, NULL), 0);
	return driver;
}

#define NVIDIA(uuid, more)                                                       \
	"{\"name\": \"gpu0\", \"backend\": \"nvidia\", \"uuid\": \"" uuid "\", " \
	"\"root_uuid\": \"" GPU "\"" more "}"

static void test_nvidias_file(void **state)
{
	struct clv_cdi_driver *driver = new_driver(folder, SPECS);
	json_t *edits, *node;

	get_edits(driver, "[" NVIDIA(GPU, "") "]", NULL, &edits);
	assert_string_equal(join(edits, "deviceNodes", "path"),
		"/dev/nvidia-uvm /dev/nvidiactl /dev/nvidia0 /dev/dri/renderD128");
	/* Which devices are visible is cleave's to say, and no daemon of MPS limits it.
	 */
	assert_string_equal(
		join(edits, "env", NULL), "NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64");
	assert_string_equal(
		join(edits, "mounts", "hostPath"), "/usr/lib64/libcuda.so.580.1");
	assert_int_equal(json_array_size(json_object_get(edits, "hooks")), 2);
	assert_int_equal(json_integer_value(json_array_get(
				 json_object_get(edits, "additionalGids"), 0)),
		44);
	json_decref(edits);

	get_edits(driver, "[" NVIDIA(MIG, "") "]", "{\"share\": 0.5}", &edits);
	node = json_array_get(json_object_get(edits, "deviceNodes"), 3);
	assert_int_equal(json_integer_value(json_object_get(node, "major")), 236);
	assert_int_equal(json_integer_value(json_object_get(node, "fileMode")), 438);
	assert_string_equal(join(edits, "mounts", "containerPath"),
		"/usr/lib64/libcuda.so.580.1 /tmp/nvidia-mps");
	json_decref(edits);

	/* What all devices have in common is there once. */
	get_edits(driver, "[" NVIDIA(GPU, "") ", " NVIDIA(MIG, "") "]", NULL, &edits);
	assert_string_equal(join(edits, "deviceNodes", "path"),
		"/dev/nvidia-uvm /dev/nvidiactl /dev/nvidia0 /dev/dri/renderD128 "
		"/dev/nvidia1 /dev/nvidia-caps/nvidia-cap12 "
		"/dev/nvidia-caps/nvidia-cap13");
	assert_int_equal(json_array_size(json_object_get(edits, "hooks")), 2);
	json_decref(edits);
	clv_cdi_driver_free(driver);
}

/* The version is the lowest that the vendor's part needs. */
static void test_version(void **state)
{
	struct clv_cdi_driver *driver = new_driver(folder, SPECS);
	json_t *device = json_loads(NVIDIA(GPU, ""), 0, NULL), *spec = NULL;

	assert_int_equal(clv_cdi_spec_without_lease(driver, "x", device, &spec, NULL), 0);
	assert_string_equal(
		json_string_value(json_object_get(spec, "cdiVersion")), "0.7.0");
	json_decref(spec);
	json_decref(device);
	device = json_loads(NVIDIA(MIG, ""), 0, NULL);
	assert_int_equal(clv_cdi_spec_without_lease(driver, "x", device, &spec, NULL), 0);
	assert_string_equal(
		json_string_value(json_object_get(spec, "cdiVersion")), "0.3.0");
	json_decref(spec);
	json_decref(device);
	clv_cdi_driver_free(driver);
}

/* What is written later is read, and the runtime's folder is before /etc/cdi. */
static void test_files_that_change(void **state)
{
#define SPEC(node)                                                                  \
	"{\"cdiVersion\": \"0.3.0\", \"kind\": \"nvidia.com/gpu\", \"devices\": [{" \
	"\"name\": \"" GPU "\", \"containerEdits\": {\"deviceNodes\": [{\"path\": " \
	"\"" node "\"}]}}]}"
	struct clv_cdi_driver *driver;
	char msg[256];
	json_t *edits;

	driver = new_driver(folder, below("run"));
	assert_int_equal(fail_edits(driver, "[" NVIDIA(GPU, "") "]", msg), -ENODEV);
	put("etc/cdi/nvidia.json", SPEC("/dev/etc"));
	get_edits(driver, "[" NVIDIA(GPU, "") "]", NULL, &edits);
	assert_string_equal(join(edits, "deviceNodes", "path"), "/dev/etc");
	json_decref(edits);
	put("run/nvidia.yaml", SPEC("/dev/run"));
	put("run/broken.yaml", "{");
	put("run/cleave-other.json", SPEC("/dev/cleave"));
	get_edits(driver, "[" NVIDIA(GPU, "") "]", NULL, &edits);
	assert_string_equal(join(edits, "deviceNodes", "path"), "/dev/run");
	json_decref(edits);
	clv_cdi_driver_free(driver);
}

/* --- AMD --- */

#define AMD(more)                                               \
	"{\"name\": \"gpu0\", \"backend\": \"amd\", \"uuid\": " \
	"\"x\", \"pci_address\": \"0000:05:00.0\"" more "}"

static void test_amds_file(void **state)
{
	struct clv_cdi_driver *driver = new_driver(folder, SPECS);
	json_t *edits, *node;

	put("dev/kfd", "");
	put("dev/dri/renderD129", "");
	put("sys/bus/pci/devices/0000:05:00.0/drm/renderD129/x", "");
	get_edits(driver, "[" AMD("") "]", NULL, &edits);
	assert_string_equal(join(edits, "deviceNodes", "path"),
		"/dev/kfd /dev/dri/card1 /dev/dri/renderD129");
	node = json_array_get(json_object_get(edits, "deviceNodes"), 0);
	assert_int_equal(json_integer_value(json_object_get(node, "gid")), 109);
	json_decref(edits);
	clv_cdi_driver_free(driver);
}

static void test_amds_nodes(void **state)
{
	struct clv_cdi_driver *driver = new_driver(folder, below("none"));
	char msg[256];
	json_t *edits;

	put("dev/kfd", "");
	assert_int_equal(fail_edits(driver, "[" AMD("") "]", msg), -ENODEV);
	assert_non_null(strstr(msg, "gpu0 has no device node"));
	assert_non_null(strstr(msg, "amdgpu"));
	put("dev/dri/renderD130", "");
	get_edits(driver, "[" AMD(", \"partition\": {\"address\": \"renderD130\"}") "]",
		NULL, &edits);
	assert_string_equal(
		join(edits, "deviceNodes", "path"), "/dev/kfd /dev/dri/renderD130");
	assert_null(json_object_get(edits, "mounts"));
	json_decref(edits);
	clv_cdi_driver_free(driver);
}

/* --- NVIDIA's nodes --- */

#define OF_MIG ", \"partition\": {\"address\": \"1/0\"}"

static void put_gpu(void)
{
	put("proc/driver/nvidia/gpus/0000:01:00.0/information",
		"GPU UUID: \t " GPU "\nDevice Minor: \t 3\n");
	put("dev/nvidia3", "");
	put("dev/nvidiactl", "");
}

static void test_mig(void **state)
{
	struct clv_cdi_driver *driver = new_driver(folder, below("none"));
	char msg[256];
	json_t *edits;

	put_gpu();
	put("dev/nvidia-caps/nvidia-cap12", "");
	put("dev/nvidia-caps/nvidia-cap13", "");
	assert_int_equal(
		fail_edits(driver, "[" NVIDIA("MIG-x", OF_MIG) "]", msg), -ENODEV);
	put("proc/driver/nvidia-caps/mig-minors",
		"config 1\ngpu3/gi1/access 12\ngpu3/gi1/ci0/access 13\n"
		"gpu3/gi10/access 99\n");
	get_edits(driver, "[" NVIDIA("MIG-x", OF_MIG) "]", NULL, &edits);
	assert_string_equal(join(edits, "deviceNodes", "path"),
		"/dev/nvidia3 /dev/nvidia-caps/nvidia-cap12 "
		"/dev/nvidia-caps/nvidia-cap13 /dev/nvidiactl");
	json_decref(edits);
	put("proc/driver/nvidia/capabilities/gpu3/mig/gi1/access",
		"DeviceFileMinor: 13\nDeviceFileMode: 256\n");
	put("proc/driver/nvidia/capabilities/gpu3/mig/gi1/ci0/access",
		"DeviceFileMinor: 12\n");
	get_edits(driver, "[" NVIDIA("MIG-x", OF_MIG) "]", NULL, &edits);
	assert_string_equal(join(edits, "deviceNodes", "path"),
		"/dev/nvidia3 /dev/nvidia-caps/nvidia-cap13 "
		"/dev/nvidia-caps/nvidia-cap12 /dev/nvidiactl");
	json_decref(edits);
	clv_cdi_driver_free(driver);
}

/* In a pod the folder on the host has another path here. */
static void test_root_in_a_pod(void **state)
{
	struct clv_cdi_driver *driver;
	json_t *edits;

	put_gpu();
	put("usr/lib64/libcuda.so.9.99", "not a library");
	put("usr/lib64/libcuda.so.580.95.05", "not a library");
	put("usr/lib64/libnvidia-ml.so.9.99", "of an earlier version");
	put("usr/bin/nvidia-smi", "");
	setenv("CLEAVE_DRIVER_ROOT", folder, 1);
	driver = new_driver("/run/nvidia/driver", below("none"));
	unsetenv("CLEAVE_DRIVER_ROOT");
	get_edits(driver, "[" NVIDIA(GPU, "") "]", NULL, &edits);
	assert_string_equal(join(edits, "deviceNodes", "hostPath"),
		"/run/nvidia/driver/dev/nvidia3 /run/nvidia/driver/dev/nvidiactl");
	assert_string_equal(join(edits, "mounts", "hostPath"),
		"/run/nvidia/driver/usr/lib64/libcuda.so.580.95.05 "
		"/run/nvidia/driver/usr/lib64/libcuda.so.580.95.05 "
		"/run/nvidia/driver/usr/lib64/libcuda.so.580.95.05 "
		"/run/nvidia/driver/usr/lib64/libcuda.so.580.95.05 "
		"/run/nvidia/driver/usr/bin/nvidia-smi");
	json_decref(edits);
	clv_cdi_driver_free(driver);
}

/* --- Names of libraries --- */

static void test_soname(void **state)
{
	char name[256];

	assert_true(clv_cdi_soname(A_LIBRARY, name, sizeof(name)));
	assert_string_equal(name, "libcuda.so.1");
	assert_false(clv_cdi_soname("/proc/self/exe", name, sizeof(name)));
	assert_false(clv_cdi_soname("/dev/null", name, sizeof(name)));
	assert_false(clv_cdi_soname("/nonexistent", name, sizeof(name)));
}

/* Nothing outside of the file is read, whatever a part of it says. */
static void test_damaged_libraries(void **state)
{
	static uint8_t text[1 << 20];
	FILE *file = fopen(A_LIBRARY, "r");
	size_t n = fread(text, 1, sizeof(text), file);
	char name[256];

	fclose(file);
	for (size_t i = 0; i < 400; i++) {
		size_t n_kept = i < 200 ? i * n / 200 : n, at = i * 37 % 2048;

		file = fopen(below("damaged"), "w");
		if (i >= 200)
			text[at] ^= 0xff;
		fwrite(text, 1, n_kept, file);
		if (i >= 200)
			text[at] ^= 0xff;
		fclose(file);
		clv_cdi_soname(below("damaged"), name, sizeof(name));
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(test_nvidias_file),
		CASE(test_version),
		CASE(test_files_that_change),
		CASE(test_amds_file),
		CASE(test_amds_nodes),
		CASE(test_mig),
		CASE(test_root_in_a_pod),
		CASE(test_soname),
		CASE(test_damaged_libraries),
	};

	/* The tests' nodes are below a root that is used where the machine has none. */
	if (access("/dev/nvidiactl", F_OK) == 0 || access("/dev/kfd", F_OK) == 0) {
		puts("1..0 # SKIP this machine has a GPU");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
