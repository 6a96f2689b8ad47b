/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"
#include "engine.h"
#include "entries.h"
#include "knobs.h"
#include "object.h"
#include "schedule.h"
#include "tables.h"
#include <stdio.h>
#include <string.h>

/* The platform, its devices and their sub-devices. A sub-device has fewer compute units
 * and the same memory and engine: the double does not divide the device's time. */

struct _cl_platform_id dcl_platform;
static cl_device_id roots[DCL_MAX_DEVICES];

void dcl_devices_init(void)
{
	dcl_platform.obj.dispatch = dcl_table_of(DCL_PLATFORM);
	atomic_store(&dcl_platform.obj.magic, DCL_MAGIC(DCL_PLATFORM));
	for (cl_uint i = 0; i < dcl_knobs.devices; i++) {
		cl_device_id device = dcl_object_new(DCL_DEVICE);

		if (!device)
			return;
		device->engine = &dcl_engines[i];
		device->compute_units = dcl_knobs.compute_units;
		device->mem_bytes = dcl_knobs.mem_bytes;
		device->max_alloc_bytes = dcl_knobs.mem_bytes / 4;
		snprintf(device->name, sizeof(device->name), "cleave double %u", i);
		roots[i] = device;
	}
}

cl_uint dcl_devices(cl_device_id *ret)
{
	memcpy(ret, roots, dcl_knobs.devices * sizeof(*ret));
	return dcl_knobs.devices;
}

cl_int CL_API_CALL dcl_clGetPlatformIDs(cl_uint n, cl_platform_id *ret, cl_uint *ret_n)
{
	if ((!ret && !ret_n) || (ret && n == 0))
		return CL_INVALID_VALUE;
	if (ret)
		ret[0] = &dcl_platform;
	if (ret_n)
		*ret_n = 1;
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clIcdGetPlatformIDsKHR(
	cl_uint n, cl_platform_id *ret, cl_uint *ret_n)
{
	return dcl_clGetPlatformIDs(n, ret, ret_n);
}

cl_int CL_API_CALL dcl_clGetPlatformInfo(cl_platform_id platform, cl_platform_info param,
	size_t bytes, void *ret, size_t *ret_bytes)
{
	if (platform && platform != &dcl_platform)
		return CL_INVALID_PLATFORM;
	return dcl_platform_query(param, bytes, ret, ret_bytes);
}

cl_int CL_API_CALL dcl_clGetDeviceIDs(cl_platform_id platform, cl_device_type type,
	cl_uint n, cl_device_id *ret, cl_uint *ret_n)
{
	const cl_device_type known = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU |
				     CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR |
				     CL_DEVICE_TYPE_CUSTOM;
	cl_uint found = dcl_knobs.devices;

	if (platform && platform != &dcl_platform)
		return CL_INVALID_PLATFORM;
	if (type != CL_DEVICE_TYPE_ALL && (type == 0 || (type & ~known)))
		return CL_INVALID_DEVICE_TYPE;
	if ((!ret && !ret_n) || (ret && n == 0))
		return CL_INVALID_VALUE;
	if (!(type & CL_DEVICE_TYPE_GPU))
		found = type & CL_DEVICE_TYPE_DEFAULT ? 1 : 0;
	if (ret_n)
		*ret_n = found;
	if (found == 0)
		return CL_DEVICE_NOT_FOUND;
	for (cl_uint i = 0; ret && i < found && i < n; i++)
		ret[i] = roots[i];
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clGetDeviceInfo(cl_device_id device, cl_device_info param,
	size_t bytes, void *ret, size_t *ret_bytes)
{
	if (!dcl_is(device, DCL_DEVICE))
		return CL_INVALID_DEVICE;
	return dcl_device_query(device, param, bytes, ret, ret_bytes);
}

static cl_device_id sub_device_new(cl_device_id parent, cl_uint units,
	const cl_device_partition_property *how, size_t n)
{
	cl_device_id device = dcl_object_new(DCL_DEVICE);

	if (!device)
		return NULL;
	dcl_object_pin(parent);
	device->parent = parent;
	device->engine = parent->engine;
	device->compute_units = units;
	device->mem_bytes = parent->mem_bytes;
	device->max_alloc_bytes = parent->max_alloc_bytes;
	snprintf(device->name, sizeof(device->name), "%.40s", parent->name);
	device->partition_bytes = n * sizeof(*how);
	memcpy(device->partition, how, device->partition_bytes);
	return device;
}

/* Fills `units` with the size of each sub-device; returns how many, or a CL error. */
static int plan_partition(cl_device_id parent, const cl_device_partition_property *how,
	cl_uint *units, size_t *how_n)
{
	intptr_t left = parent->compute_units;
	int n = 0;

	if (!how)
		return CL_INVALID_VALUE;
	if (how[0] == CL_DEVICE_PARTITION_EQUALLY) {
		if (how[1] <= 0 || how[2] != 0)
			return CL_INVALID_VALUE;
		if (how[1] > left)
			return CL_DEVICE_PARTITION_FAILED;
		for (*how_n = 3; left >= how[1]; left -= how[1])
			units[n++] = (cl_uint)how[1];
		return n;
	}
	if (how[0] != CL_DEVICE_PARTITION_BY_COUNTS)
		return CL_INVALID_VALUE;
	for (n = 0; how[n + 1] != CL_DEVICE_PARTITION_BY_COUNTS_LIST_END; n++) {
		if (n >= (int)parent->compute_units || how[n + 1] < 0 ||
			how[n + 1] > left)
			return CL_INVALID_DEVICE_PARTITION_COUNT;
		left -= how[n + 1];
		units[n] = (cl_uint)how[n + 1];
	}
	*how_n = (size_t)n + 2;
	return n > 0 ? n : CL_INVALID_DEVICE_PARTITION_COUNT;
}

cl_int CL_API_CALL dcl_clCreateSubDevices(cl_device_id parent,
	const cl_device_partition_property *how, cl_uint n, cl_device_id *ret,
	cl_uint *ret_n)
{
	cl_uint units[32];
	size_t how_n = 0;
	int found;

	if (!dcl_is(parent, DCL_DEVICE))
		return CL_INVALID_DEVICE;
	found = plan_partition(parent, how, units, &how_n);
	if (found < 0)
		return found;
	if (ret && n < (cl_uint)found)
		return CL_INVALID_VALUE;
	if (ret_n)
		*ret_n = (cl_uint)found;
	for (int i = 0; ret && i < found; i++) {
		ret[i] = sub_device_new(parent, units[i], how, how_n);
		if (!ret[i]) {
			while (i-- > 0)
				dcl_object_release(ret[i], DCL_DEVICE);
			return CL_OUT_OF_HOST_MEMORY;
		}
	}
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clCreateSubDevicesEXT(cl_device_id parent,
	const cl_device_partition_property_ext *how, cl_uint n, cl_device_id *ret,
	cl_uint *ret_n)
{
	cl_device_partition_property list[36] = {0};

	if (!how)
		return CL_INVALID_VALUE;
	if (how[0] == CL_DEVICE_PARTITION_EQUALLY_EXT) {
		list[0] = CL_DEVICE_PARTITION_EQUALLY;
		list[1] = (cl_device_partition_property)how[1];
		return dcl_clCreateSubDevices(parent, list, n, ret, ret_n);
	}
	if (how[0] != CL_DEVICE_PARTITION_BY_COUNTS_EXT)
		return CL_INVALID_VALUE;
	list[0] = CL_DEVICE_PARTITION_BY_COUNTS;
	for (int i = 1; how[i] != CL_PARTITION_BY_COUNTS_LIST_END_EXT; i++) {
		if (i > 33)
			return CL_INVALID_DEVICE_PARTITION_COUNT;
		list[i] = (cl_device_partition_property)how[i];
	}
	return dcl_clCreateSubDevices(parent, list, n, ret, ret_n);
}

/* A root device is not refcounted. */
cl_int CL_API_CALL dcl_clRetainDevice(cl_device_id device)
{
	if (dcl_is(device, DCL_DEVICE) && !device->parent)
		return CL_SUCCESS;
	return dcl_object_retain(device, DCL_DEVICE);
}

cl_int CL_API_CALL dcl_clReleaseDevice(cl_device_id device)
{
	if (dcl_is(device, DCL_DEVICE) && !device->parent)
		return CL_SUCCESS;
	return dcl_object_release(device, DCL_DEVICE);
}

cl_int CL_API_CALL dcl_clRetainDeviceEXT(cl_device_id device)
{
	return dcl_clRetainDevice(device);
}

cl_int CL_API_CALL dcl_clReleaseDeviceEXT(cl_device_id device)
{
	return dcl_clReleaseDevice(device);
}

void dcl_device_destroy(void *object)
{
	cl_device_id device = object, parent = device->parent;

	dcl_object_recycle(device);
	dcl_object_unpin(parent);
}

cl_int CL_API_CALL dcl_clGetDeviceAndHostTimer(
	cl_device_id device, cl_ulong *device_ns, cl_ulong *host_ns)
{
	if (!dcl_is(device, DCL_DEVICE))
		return CL_INVALID_DEVICE;
	if (!device_ns || !host_ns)
		return CL_INVALID_VALUE;
	*device_ns = *host_ns = dcl_now_ns();
	return CL_SUCCESS;
}

cl_int CL_API_CALL dcl_clGetHostTimer(cl_device_id device, cl_ulong *host_ns)
{
	if (!dcl_is(device, DCL_DEVICE))
		return CL_INVALID_DEVICE;
	if (!host_ns)
		return CL_INVALID_VALUE;
	*host_ns = dcl_now_ns();
	return CL_SUCCESS;
}
