/* SPDX-License-Identifier: Apache-2.0 */
/* What the program sees: only the lease's device, with the quota as its memory size.  A
 * process that was refused sees no platform. */
#include "base/cleanup.h"
#include "gate/attach/attach.h"
#include "gate/attach/attachment.h"
#include "gate/memory/charges.h"
#include "gate/memory/ledger.h"
#include "gate/opencl/device/devices.h"
#include "gate/opencl/device/identity.h"
#include "gate/opencl/device/workers.h"
#include "gate/opencl/dispatch/context-notify.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/vendors.h"
#include "gate/opencl/dispatch/wrap.h"
#include "gate/process/view.h"
#include "gate/window/threads.h"

#include <CL/cl_gl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bounds of what is read from a driver.  It may report more entries than it has written,
 * so the arrays are zeroed first. */
#define MAX_PLATFORMS 32
#define MAX_DEVICES 64
#define MAX_DEPTH 16 /* of sub-devices of sub-devices */

/* CL/cl_ext.h: free memory in KiB, total and largest block. */
#define DEVICE_GLOBAL_FREE_MEMORY_AMD 0x4039

/* Of cl_amd_copy_buffer_p2p and cl_khr_command_buffer_multi_device: the devices that work
 * together with this one, and their number. */
#define DEVICE_NUM_P2P_DEVICES_AMD 0x4088
#define DEVICE_P2P_DEVICES_AMD 0x4089
#define DEVICE_COMMAND_BUFFER_NUM_SYNC_DEVICES_KHR 0x12AB
#define DEVICE_COMMAND_BUFFER_SYNC_DEVICES_KHR 0x12AC

#define PLATFORM_NOT_FOUND (-1001) /* CL_PLATFORM_NOT_FOUND_KHR */

static bool is_lease_platform(const struct clv_view *view, cl_platform_id platform)
{
	char name[sizeof(view->platform)] = "";

	clv_real.clGetPlatformInfo(
		platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
	return strcmp(name, view->platform) == 0;
}

static cl_int CL_API_CALL wrap_clGetPlatformIDs(
	cl_uint room, cl_platform_id *platforms, cl_uint *ret_n)
{
	bool refused;
	struct clv_view *view = clv_gate_view(&refused);
	cl_platform_id all[MAX_PLATFORMS] = {0};
	cl_uint n_all = 0, n = 0;
	cl_int r;

	if (!view && !refused)
		return clv_real.clGetPlatformIDs(room, platforms, ret_n);
	if ((!platforms && !ret_n) || (platforms && room == 0))
		return CL_INVALID_VALUE;
	if (ret_n)
		*ret_n = 0;
	if (refused)
		return PLATFORM_NOT_FOUND;
	r = clv_real.clGetPlatformIDs(MAX_PLATFORMS, all, &n_all);
	if (r != CL_SUCCESS)
		return r;
	for (cl_uint i = 0; i < n_all && i < MAX_PLATFORMS; i++) {
		if (!all[i] || !is_lease_platform(view, all[i]))
			continue;
		if (platforms && n < room)
			platforms[n] = all[i];
		n++;
	}
	if (ret_n)
		*ret_n = n;
	return n > 0 ? CL_SUCCESS : PLATFORM_NOT_FOUND;
}

/* The platform for calls that name none. */
static cl_platform_id lease_platform(const struct clv_view *view)
{
	cl_platform_id all[MAX_PLATFORMS] = {0};
	cl_uint n_all = 0;

	clv_real.clGetPlatformIDs(MAX_PLATFORMS, all, &n_all);
	for (cl_uint i = 0; i < n_all && i < MAX_PLATFORMS; i++) {
		if (all[i] && is_lease_platform(view, all[i]))
			return all[i];
	}
	return NULL;
}

/* Some drivers hide devices, or change their order, by a variable that the program may
 * set.  Said once. */
static void say_hidden(const struct clv_view *view, cl_uint n_shown)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;
	char why[256];

	if (atomic_flag_test_and_set(&is_said))
		return;
	snprintf(why, sizeof(why),
		"of '%.100s' the driver shows %u here, and the lease's device "
		"(number %u) is not among them",
		view->platform, n_shown, view->ordinal);
	clv_attach_report_refused(
		why, "unset the variable by which the driver hides devices");
}

static cl_device_id lease_device(const struct clv_view *view, cl_platform_id platform)
{
	cl_device_id all[MAX_DEVICES] = {0};
	cl_device_id device;
	cl_uint n_all = 0;
	cl_int r;

	if (platform && !is_lease_platform(view, platform))
		return NULL;
	r = clv_workers_get_devices(
		view, platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, all, &n_all);
	if (r != CL_SUCCESS && r != CL_DEVICE_NOT_FOUND)
		return NULL;
	if (!clv_identify_device(
		    view, all, n_all < MAX_DEVICES ? n_all : MAX_DEVICES, &device)) {
		if (platform)
			say_hidden(view, n_all);
		return NULL;
	}
	return clv_vendor_is_gated(device) ? device : NULL;
}

/* CL_DEVICE_TYPE_DEFAULT means the only device that the program sees. */
static bool is_of_type(cl_device_id device, cl_device_type wanted)
{
	cl_device_type type = 0;

	if (wanted == CL_DEVICE_TYPE_ALL || wanted & CL_DEVICE_TYPE_DEFAULT)
		return true;
	clv_real.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	return (type & wanted) != 0;
}

/* Whether the device is the lease's (own), or a sub-device of it. */
static bool is_own(cl_device_id own, cl_device_id device)
{
	cl_device_id parent = device;

	for (int depth = 0; own && parent && depth < MAX_DEPTH; depth++) {
		if (parent == own)
			return true;
		device = parent;
		parent = NULL;
		clv_real.clGetDeviceInfo(
			device, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent, NULL);
	}
	return false;
}

/* The driver never writes into the program's array, because the program could find other
 * devices there, beyond the number that is returned. */
static cl_int CL_API_CALL wrap_clGetDeviceIDs(cl_platform_id platform,
	cl_device_type type, cl_uint room, cl_device_id *devices, cl_uint *ret_n)
{
	bool refused;
	struct clv_view *view = clv_gate_view(&refused);
	cl_device_id device = NULL;
	cl_uint n = 0;
	cl_int r = CL_DEVICE_NOT_FOUND;

	if (!view && !refused)
		return clv_real.clGetDeviceIDs(platform, type, room, devices, ret_n);
	if ((devices && room == 0) || (!devices && !ret_n))
		return CL_INVALID_VALUE;
	if (ret_n)
		*ret_n = 0;
	if (view && !platform)
		platform = lease_platform(view);
	/* The driver checks platform and type. */
	if (view)
		r = clv_workers_get_devices(view, platform, type, 0, NULL, &n);
	if (r == CL_SUCCESS || r == CL_DEVICE_NOT_FOUND)
		device = view ? lease_device(view, platform) : NULL;
	if (r != CL_SUCCESS)
		return r;
	if (!device || !is_of_type(device, type))
		return CL_DEVICE_NOT_FOUND;
	if (devices)
		devices[0] = device;
	if (ret_n)
		*ret_n = 1;
	return CL_SUCCESS;
}

/* The program may have handles of other devices from elsewhere; calls with them fail. */
static cl_int check_devices(cl_uint n, const cl_device_id *devices)
{
	bool refused;
	struct clv_view *view = clv_gate_view(&refused);
	cl_device_id own;

	if (refused)
		return CL_DEVICE_NOT_AVAILABLE;
	if (!view || !devices)
		return CL_SUCCESS;
	own = lease_device(view, lease_platform(view));
	for (cl_uint i = 0; i < n; i++) {
		if (!is_own(own, devices[i]))
			return CL_INVALID_DEVICE;
	}
	return CL_SUCCESS;
}

static cl_context check_context(cl_context context, cl_int *ret_error)
{
	if (!context || clv_vendor_is_gated(context))
		return context;
	clv_real.clReleaseContext(context);
	if (ret_error)
		*ret_error = CL_DEVICE_NOT_AVAILABLE;
	return NULL;
}

static cl_context refuse_context(cl_int error, cl_int *ret_error)
{
	if (ret_error)
		*ret_error = error;
	return NULL;
}

static cl_context create_context(const cl_context_properties *properties, cl_uint n,
	const cl_device_id *devices, clv_context_function function, void *userdata,
	cl_int *ret_error)
{
	struct clv_context_notify *notify = NULL;
	cl_context context;

	if (clv_gate_current_view() && !clv_gate_threads_start())
		return refuse_context(CL_OUT_OF_HOST_MEMORY, ret_error);
	if (function) {
		notify = clv_context_notify_new(function, userdata);
		if (!notify)
			return refuse_context(CL_OUT_OF_HOST_MEMORY, ret_error);
		function = clv_context_notify_run;
		userdata = notify;
	}
	context = clv_real.clCreateContext(
		properties, n, devices, function, userdata, ret_error);
	if (notify)
		clv_context_notify_tie(notify, context);
	if (context)
		clv_charges_disown(context);
	return check_context(context, ret_error);
}

static cl_context CL_API_CALL wrap_clCreateContext(
	const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
	clv_context_function function, void *userdata, cl_int *ret_error)
{
	cl_int r = check_devices(n, devices);

	if (r != CL_SUCCESS)
		return refuse_context(r, ret_error);
	return create_context(properties, n, devices, function, userdata, ret_error);
}

/* The two calls that divide a device, by one type. */
typedef cl_int (*dividing_function)(cl_device_id device, const void *properties,
	cl_uint room, cl_device_id *devices, cl_uint *ret_n);

static cl_int divide(cl_device_id device, const void *properties, cl_uint room,
	cl_device_id *devices, cl_uint *ret_n)
{
	return clv_real.clCreateSubDevices(device, properties, room, devices, ret_n);
}

static cl_int divide_ext(cl_device_id device, const void *properties, cl_uint room,
	cl_device_id *devices, cl_uint *ret_n)
{
	return clv_real.clCreateSubDevicesEXT(device, properties, room, devices, ret_n);
}

static bool are_parts_of(cl_device_id device, const cl_device_id *parts, cl_uint n)
{
	for (cl_uint i = 0; i < n; i++) {
		if (!parts[i] || !clv_vendor_is_gated(parts[i]) ||
			!is_own(device, parts[i]))
			return false;
	}
	return true;
}

static void release_parts(const cl_device_id *parts, cl_uint n)
{
	for (cl_uint i = 0; i < n; i++) {
		if (parts[i])
			clv_real.clReleaseDevice(parts[i]);
	}
}

/* The driver never writes into the program's array here either. */
static cl_int divide_into(dividing_function function, cl_device_id device,
	const void *properties, cl_uint n_parts, cl_device_id *devices, cl_uint *ret_n)
{
	_cleanup_free_ cl_device_id *parts = calloc(n_parts, sizeof(*parts));
	cl_uint n = 0;
	cl_int r;

	if (!parts)
		return CL_OUT_OF_HOST_MEMORY;
	r = function(device, properties, n_parts, parts, &n);
	if (r != CL_SUCCESS)
		return r;
	if (n > n_parts || !are_parts_of(device, parts, n)) {
		release_parts(parts, n_parts);
		return CL_DEVICE_PARTITION_FAILED;
	}
	memcpy(devices, parts, n * sizeof(*parts));
	if (ret_n)
		*ret_n = n;
	return CL_SUCCESS;
}

static cl_int divide_checked(dividing_function function, cl_device_id device,
	const void *properties, cl_uint room, cl_device_id *devices, cl_uint *ret_n)
{
	cl_int r = check_devices(1, &device);
	cl_uint n = 0;

	if (r == CL_SUCCESS)
		r = function(device, properties, 0, NULL, &n);
	if (r != CL_SUCCESS)
		return r;
	if (devices && (n == 0 || room < n))
		return CL_INVALID_VALUE;
	if (devices)
		return divide_into(function, device, properties, n, devices, ret_n);
	if (ret_n)
		*ret_n = n;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL wrap_clCreateSubDevices(cl_device_id device,
	const cl_device_partition_property *properties, cl_uint room,
	cl_device_id *devices, cl_uint *ret_n)
{
	return divide_checked(divide, device, properties, room, devices, ret_n);
}

static cl_int CL_API_CALL wrap_clCreateSubDevicesEXT(cl_device_id device,
	const cl_device_partition_property_ext *properties, cl_uint room,
	cl_device_id *devices, cl_uint *ret_n)
{
	return divide_checked(divide_ext, device, properties, room, devices, ret_n);
}

/* The devices behind an OpenGL context may be any of the machine's. */
static cl_int CL_API_CALL wrap_clGetGLContextInfoKHR(
	const cl_context_properties *properties, cl_gl_context_info what, size_t room,
	void *value, size_t *ret_bytes)
{
	bool refused;
	struct clv_view *view = clv_gate_view(&refused);
	cl_device_id all[MAX_DEVICES] = {0}, own;
	size_t n_all_bytes = 0, n_bytes = 0;
	cl_int r;

	if (!view && !refused)
		return clv_real.clGetGLContextInfoKHR(
			properties, what, room, value, ret_bytes);
	if (refused || (what != CL_DEVICES_FOR_GL_CONTEXT_KHR &&
			       what != CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR))
		return CL_INVALID_VALUE;
	r = clv_real.clGetGLContextInfoKHR(
		properties, what, sizeof(all), all, &n_all_bytes);
	if (r != CL_SUCCESS)
		return r;
	own = lease_device(view, lease_platform(view));
	for (size_t i = 0; i < n_all_bytes / sizeof(own) && i < MAX_DEVICES; i++) {
		if (own && all[i] == own)
			n_bytes = sizeof(own);
	}
	if (value && room < n_bytes)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, &own, n_bytes);
	if (ret_bytes)
		*ret_bytes = n_bytes;
	return CL_SUCCESS;
}

static cl_platform_id platform_of(const cl_context_properties *properties)
{
	for (; properties && properties[0]; properties += 2) {
		if (properties[0] == CL_CONTEXT_PLATFORM)
			return (cl_platform_id)properties[1];
	}
	return NULL;
}

/* The driver itself would take all devices of the type. */
static cl_context CL_API_CALL wrap_clCreateContextFromType(
	const cl_context_properties *properties, cl_device_type type,
	clv_context_function function, void *userdata, cl_int *ret_error)
{
	bool refused;
	struct clv_view *view = clv_gate_view(&refused);
	cl_platform_id platform;
	cl_device_id device = NULL;

	if (!view && !refused)
		return clv_real.clCreateContextFromType(
			properties, type, function, userdata, ret_error);
	if (!refused) {
		platform = platform_of(properties);
		device = lease_device(view, platform ? platform : lease_platform(view));
	}
	if (!device || !is_of_type(device, type))
		return refuse_context(CL_DEVICE_NOT_FOUND, ret_error);
	return create_context(properties, 1, &device, function, userdata, ret_error);
}

static void limit_ulong(void *value, size_t room, uint64_t limit)
{
	cl_ulong n;

	if (!value || room < sizeof(n))
		return;
	memcpy(&n, value, sizeof(n));
	if (n > limit)
		n = limit;
	memcpy(value, &n, sizeof(n));
}

/* The list that a query is about; 0: none. */
static cl_device_info list_of_devices(cl_device_info what)
{
	switch (what) {
	case DEVICE_NUM_P2P_DEVICES_AMD:
	case DEVICE_P2P_DEVICES_AMD:
		return DEVICE_P2P_DEVICES_AMD;
	case DEVICE_COMMAND_BUFFER_NUM_SYNC_DEVICES_KHR:
	case DEVICE_COMMAND_BUFFER_SYNC_DEVICES_KHR:
		return DEVICE_COMMAND_BUFFER_SYNC_DEVICES_KHR;
	default:
		return 0;
	}
}

/* Of the devices in such a list the program sees those that are its own; the driver never
 * writes into the program's array. */
static cl_int get_own_devices(const struct clv_view *view, cl_device_id device,
	cl_device_info what, size_t room, void *value, size_t *ret_bytes)
{
	cl_device_info list = list_of_devices(what);
	cl_device_id own = view ? lease_device(view, lease_platform(view)) : NULL;
	cl_device_id all[MAX_DEVICES] = {0};
	size_t n_all_bytes = 0, n_bytes;
	cl_int r = clv_real.clGetDeviceInfo(device, list, sizeof(all), all, &n_all_bytes);
	cl_uint n = 0;

	if (r != CL_SUCCESS)
		return r;
	for (size_t i = 0; i < n_all_bytes / sizeof(own) && i < MAX_DEVICES; i++) {
		if (is_own(own, all[i]))
			all[n++] = all[i];
	}
	n_bytes = what == list ? n * sizeof(own) : sizeof(n);
	if (value && room < n_bytes)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, what == list ? (void *)all : &n, n_bytes);
	if (ret_bytes)
		*ret_bytes = n_bytes;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL wrap_clGetDeviceInfo(cl_device_id device, cl_device_info what,
	size_t room, void *value, size_t *ret_bytes)
{
	bool refused;
	struct clv_view *view = clv_gate_view(&refused);
	uint64_t quota, used;
	cl_int r;

	if ((view || refused) && list_of_devices(what))
		return get_own_devices(view, device, what, room, value, ret_bytes);
	r = clv_real.clGetDeviceInfo(device, what, room, value, ret_bytes);
	if (r != CL_SUCCESS || !view)
		return r;
	quota = clv_ledger_quota_bytes();
	switch (what) {
	case CL_DEVICE_GLOBAL_MEM_SIZE:
	case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
		limit_ulong(value, room, quota);
		break;
	case DEVICE_GLOBAL_FREE_MEMORY_AMD:
		used = clv_ledger_used_bytes();
		for (size_t i = 0; value && (i + 1) * sizeof(cl_ulong) <= room && i < 2;
			i++)
			limit_ulong((char *)value + i * sizeof(cl_ulong),
				sizeof(cl_ulong),
				(quota > used ? quota - used : 0) / 1024);
		break;
	default:
		break;
	}
	return r;
}

uint64_t clv_device_max_allocation_bytes(cl_context context)
{
	cl_device_id device = NULL;
	cl_ulong max_bytes = 0;

	clv_real.clGetContextInfo(
		context, CL_CONTEXT_DEVICES, sizeof(device), &device, NULL);
	if (!device || clv_real.clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE,
			       sizeof(max_bytes), &max_bytes, NULL) != CL_SUCCESS)
		return UINT64_MAX;
	return max_bytes;
}

#define WRAP(function) table->function = wrap_##function

void clv_opencl_wrap_devices(cl_icd_dispatch *table)
{
	WRAP(clGetPlatformIDs);
	WRAP(clGetDeviceIDs);
	WRAP(clCreateContext);
	WRAP(clCreateSubDevices);
	WRAP(clCreateSubDevicesEXT);
	WRAP(clGetGLContextInfoKHR);
	WRAP(clCreateContextFromType);
	WRAP(clGetDeviceInfo);
}
