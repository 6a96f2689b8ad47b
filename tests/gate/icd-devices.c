/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices a program finds by each call: the lease's, and its parts. */
#include "icd.h"

#include "base/uuid.h"

#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void other_devices(void)
{
	void *(*by_name)(const char *) = dlsym(library, "clGetExtensionFunctionAddress");
	struct object *platform = the_platform();
	const cl_icd_dispatch *table = platform->table;
	cl_device_id devices[4] = {0}, other;
	cl_uint n = 9;
	cl_int r;

	CHECK(table->clGetDeviceIDs((cl_platform_id)platform, CL_DEVICE_TYPE_ALL, 4,
		      devices, &n) == CL_SUCCESS);
	CHECK(n == 1 && devices[0] && !devices[1] && !devices[2] && !devices[3]);
	CHECK(table->clGetDeviceIDs((cl_platform_id)platform, CL_DEVICE_TYPE_ALL, 0,
		      devices, &n) == CL_INVALID_VALUE);
	CHECK(table->clGetDeviceIDs((cl_platform_id)platform, CL_DEVICE_TYPE_ALL, 0, NULL,
		      NULL) == CL_INVALID_VALUE);
	/* The vendor's devices are in one array, and the lease's is not the first. */
	other = (cl_device_id)((struct object *)devices[0] - 1);
	CHECK(((struct object *)other)->table == table);
	CHECK(!table->clCreateContext(NULL, 1, &other, NULL, NULL, &r));
	CHECK(r == CL_INVALID_DEVICE);
	devices[1] = other;
	CHECK(!table->clCreateContext(NULL, 2, devices, NULL, NULL, &r));
	CHECK(r == CL_INVALID_DEVICE);
	CHECK(table->clCreateContext(NULL, 1, devices, NULL, NULL, &r));
	CHECK(!by_name("clGetDeviceIDsFromVendor"));
}

void test_other_devices(void **state)
{
	in_process(other_devices, true, 0, 0);
}

/* The number of the device, from 1 on, that the program sees; 0: none. */
static int device_seen(void)
{
	struct object *platform = the_platform();
	cl_device_id seen[4] = {0};
	unsigned char id[16] = {0};
	cl_uint n = 0;
	cl_int r = platform->table->clGetDeviceIDs(
		(cl_platform_id)platform, CL_DEVICE_TYPE_ALL, 4, seen, &n);

	if (r == CL_DEVICE_NOT_FOUND)
		return 0;
	CHECK(r == CL_SUCCESS && n == 1);
	CHECK(platform->table->clGetDeviceInfo(
		      seen[0], CL_DEVICE_UUID_KHR, sizeof(id), id, NULL) == CL_SUCCESS);
	return id[0];
}

static void sees_none(void)
{
	CHECK(device_seen() == 0);
}

static void sees_the_second(void)
{
	CHECK(device_seen() == 2);
}

static void sees_the_third(void)
{
	CHECK(device_seen() == 3);
}

/* The agent's list had the device in the second place. */
void test_device_by_uuid(void **state)
{
	char made[CLV_UUID_LENGTH + 1];
	const struct {
		const char *type, *name;
		void (*seen)(void);
	} cases[] = {
		{"4", "03030303-0303-0303-0303-030303030303", sees_the_third},
		{"4", "02020202-0202-0202-0202-020202020202,03", sees_the_second},
		{"4", "09090909-0909-0909-0909-090909090909", sees_none},
		{"4", "09090909-0909-8909-8909-090909090909", sees_none},
		/* Made by the agent, another driver's, an older agent's. */
		{"4", made, sees_the_second},
		{"4", "GPU-03030303-0303-0303-0303-030303030303", sees_the_second},
		{"4", "", sees_the_second},
		/* Each driver of a processor has names of its own. */
		{"2", "03030303-0303-0303-0303-030303030303", sees_the_second},
	};

	clv_uuid_make("test", "", 1, made);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv("VENDOR_UUIDS", cases[i].type, 1);
		setenv("LEASE_DEVICES", cases[i].name, 1);
		in_process(cases[i].seen, true, 0, 0);
	}
	unsetenv("VENDOR_UUIDS");
	unsetenv("LEASE_DEVICES");
}

static cl_device_id own_device(const struct object *platform)
{
	cl_device_id own;

	CHECK(platform->table->clGetDeviceIDs((cl_platform_id)platform,
		      CL_DEVICE_TYPE_ALL, 1, &own, NULL) == CL_SUCCESS);
	return own;
}

/* Queries of a device that return others, each behind one that returns their number. */
static void lists_of_devices(void)
{
	static const cl_device_info queries[][2] = {{0x4088, 0x4089}, {0x12AB, 0x12AC}};
	struct object *platform = the_platform();
	const cl_icd_dispatch *table = platform->table;
	cl_device_id own = own_device(platform), found[4];
	cl_uint n;
	size_t n_bytes;

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		n = 9;
		memset(found, 0, sizeof(found));
		CHECK(table->clGetDeviceInfo(own, queries[i][0], sizeof(n), &n, NULL) ==
			CL_SUCCESS);
		CHECK(n == 1);
		CHECK(table->clGetDeviceInfo(own, queries[i][1], 0, NULL, &n_bytes) ==
			CL_SUCCESS);
		CHECK(n_bytes == sizeof(own));
		CHECK(table->clGetDeviceInfo(own, queries[i][1], sizeof(found), found,
			      &n_bytes) == CL_SUCCESS);
		CHECK(n_bytes == sizeof(own));
		CHECK(found[0] == own && !found[1] && !found[2] && !found[3]);
		CHECK(table->clGetDeviceInfo(own, queries[i][1], 1, found, NULL) ==
			CL_INVALID_VALUE);
	}
}

void test_lists_of_devices(void **state)
{
	in_process(lists_of_devices, true, 0, 0);
}

typedef cl_int(CL_API_CALL *dividing_function)(
	cl_device_id, const void *, cl_uint, cl_device_id *, cl_uint *);

/* What the driver writes behind the parts of a device does not reach the program. */
static void check_parts(dividing_function divide, cl_device_id own)
{
	cl_device_id parts[4] = {0};
	cl_uint n = 9;

	CHECK(divide(own, NULL, 0, NULL, &n) == CL_SUCCESS && n == 2);
	CHECK(divide(own, NULL, 1, parts, &n) == CL_INVALID_VALUE && !parts[0]);
	CHECK(divide((cl_device_id)((struct object *)own - 1), NULL, 4, parts, &n) ==
		CL_INVALID_DEVICE);
	n = 9;
	CHECK(divide(own, NULL, 4, parts, &n) == CL_SUCCESS && n == 2);
	CHECK(parts[0] && parts[1] && !parts[2] && !parts[3]);
	/* A part that is another device. */
	setenv("VENDOR_STRANGE", "1", 1);
	memset(parts, 0, sizeof(parts));
	CHECK(divide(own, NULL, 4, parts, &n) == CL_DEVICE_PARTITION_FAILED);
	CHECK(!parts[0] && !parts[1]);
	unsetenv("VENDOR_STRANGE");
}

static void parts_of_devices(void)
{
	struct object *platform = the_platform();
	cl_device_id own = own_device(platform);

	check_parts((dividing_function)platform->table->clCreateSubDevices, own);
	check_parts((dividing_function)platform->table->clCreateSubDevicesEXT, own);
}

void test_parts_of_devices(void **state)
{
	in_process(parts_of_devices, true, 0, 0);
}

static void devices_for_opengl(void)
{
	static const cl_gl_context_info queries[] = {
		CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR, CL_DEVICES_FOR_GL_CONTEXT_KHR};
	struct object *platform = the_platform();
	const cl_icd_dispatch *table = platform->table;
	cl_device_id own = own_device(platform), found[4];
	size_t n_bytes;

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		memset(found, 0, sizeof(found));
		CHECK(table->clGetGLContextInfoKHR(NULL, queries[i], 0, NULL, &n_bytes) ==
			CL_SUCCESS);
		CHECK(n_bytes == sizeof(own));
		CHECK(table->clGetGLContextInfoKHR(NULL, queries[i], sizeof(own) - 1,
			      found, &n_bytes) == CL_INVALID_VALUE);
		CHECK(!found[0]);
		CHECK(table->clGetGLContextInfoKHR(NULL, queries[i], sizeof(found), found,
			      &n_bytes) == CL_SUCCESS);
		CHECK(n_bytes == sizeof(own));
		CHECK(found[0] == own && !found[1] && !found[2] && !found[3]);
	}
}

void test_devices_for_opengl(void **state)
{
	in_process(devices_for_opengl, true, 0, 0);
}
