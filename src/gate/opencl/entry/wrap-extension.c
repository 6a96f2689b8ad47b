/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that a program looks up by name.  For a call that the gate wraps it gets the
 * wrapper.  Extension functions that allocate or submit have wrappers here.  An unknown
 * function whose name says that it allocates, submits or finds devices is refused. */
#include "gate/opencl/entry/wrap-extension.h"

#include "base/cleanup.h"
#include "gate/attach/attachment.h"
#include "gate/memory/charges.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/wrap.h"
#include "gate/opencl/entry/command-buffers.h"
#include "gate/opencl/memory/objects.h"
#include "gate/opencl/queue/submit.h"
#include "gate/window/costs.h"

#include <CL/cl_ext.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The driver's functions behind the wrappers, set when the program looks them up. */
static struct {
	_Atomic(void *) device_alloc;
	_Atomic(void *) shared_alloc;
	_Atomic(void *) host_alloc;
	_Atomic(void *) mem_free;
	_Atomic(void *) mem_blocking_free;
	_Atomic(void *) enqueue_memcpy;
	_Atomic(void *) enqueue_memfill;
	_Atomic(void *) enqueue_migrate;
	_Atomic(void *) enqueue_advise;
} vendor;

/* Intel's unified shared memory: CL/cl_ext_intel.h, cl_intel_unified_shared_memory. */
typedef void *(CL_API_CALL *device_alloc_function)(
	cl_context, cl_device_id, const cl_bitfield *, size_t, cl_uint, cl_int *);
typedef void *(CL_API_CALL *host_alloc_function)(
	cl_context, const cl_bitfield *, size_t, cl_uint, cl_int *);

/* If there is an error, the driver's return value is no memory. */
static void *book_pointer(
	struct clv_charge *charge, void *address, cl_int error, cl_int *ret_error)
{
	if (ret_error)
		*ret_error = error;
	if (address && error == CL_SUCCESS) {
		clv_charge_pointer(charge, address);
		return address;
	}
	clv_charge_undo(charge);
	return NULL;
}

static void *refuse(cl_int *ret_error)
{
	if (ret_error)
		*ret_error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
	return NULL;
}

static void *alloc_for_device(device_alloc_function real, cl_context context,
	cl_device_id device, const cl_bitfield *properties, size_t n, cl_uint alignment,
	cl_int *ret_error)
{
	struct clv_charge charge = clv_object_charge(clv_object_bytes(n));
	cl_int error = CL_SUCCESS;
	void *address;

	if (charge.refused)
		return refuse(ret_error);
	charge.owner = context;
	address = real(context, device, properties, n, alignment, &error);
	return book_pointer(&charge, address, error, ret_error);
}

static void *CL_API_CALL wrap_clDeviceMemAllocINTEL(cl_context context,
	cl_device_id device, const cl_bitfield *properties, size_t n, cl_uint alignment,
	cl_int *ret_error)
{
	return alloc_for_device((device_alloc_function)atomic_load(&vendor.device_alloc),
		context, device, properties, n, alignment, ret_error);
}

static void *CL_API_CALL wrap_clSharedMemAllocINTEL(cl_context context,
	cl_device_id device, const cl_bitfield *properties, size_t n, cl_uint alignment,
	cl_int *ret_error)
{
	return alloc_for_device((device_alloc_function)atomic_load(&vendor.shared_alloc),
		context, device, properties, n, alignment, ret_error);
}

static void *CL_API_CALL wrap_clHostMemAllocINTEL(cl_context context,
	const cl_bitfield *properties, size_t n, cl_uint alignment, cl_int *ret_error)
{
	struct clv_charge charge = clv_object_charge(clv_object_bytes(n));
	host_alloc_function real = (host_alloc_function)atomic_load(&vendor.host_alloc);
	cl_int error = CL_SUCCESS;
	void *address;

	if (charge.refused)
		return refuse(ret_error);
	charge.owner = context;
	address = real(context, properties, n, alignment, &error);
	return book_pointer(&charge, address, error, ret_error);
}

typedef cl_int(CL_API_CALL *mem_free_function)(cl_context, void *);

static cl_int free_pointer(mem_free_function real, cl_context context, void *address)
{
	struct clv_charge charge = clv_charge_withdraw_from(context, address);
	cl_int r = real(context, address);

	if (r == CL_SUCCESS)
		clv_charge_undo(&charge);
	else
		clv_charge_pointer(&charge, address);
	return r;
}

static cl_int CL_API_CALL wrap_clMemFreeINTEL(cl_context context, void *address)
{
	return free_pointer(
		(mem_free_function)atomic_load(&vendor.mem_free), context, address);
}

static cl_int CL_API_CALL wrap_clMemBlockingFreeINTEL(cl_context context, void *address)
{
	return free_pointer((mem_free_function)atomic_load(&vendor.mem_blocking_free),
		context, address);
}

static cl_int CL_API_CALL wrap_clEnqueueMemcpyINTEL(cl_command_queue queue,
	cl_bool blocking, void *to, const void *from, size_t n, cl_uint n_waits,
	const cl_event *wait_list, cl_event *event)
{
	cl_int(CL_API_CALL * real)(cl_command_queue, cl_bool, void *, const void *,
		size_t, cl_uint, const cl_event *, cl_event *) =
		atomic_load(&vendor.enqueue_memcpy);
	struct clv_submission submission;
	cl_int r = clv_submission_begin(&submission, queue,
		clv_cost_key_bytes(CLV_COST_COPY, n), blocking, n_waits, wait_list,
		event);

	if (r != CL_SUCCESS)
		return r;
	return clv_submission_end(
		&submission, real(queue, blocking, to, from, n, submission.n_waits,
				     submission.wait_list, submission.event));
}

static cl_int CL_API_CALL wrap_clEnqueueMemFillINTEL(cl_command_queue queue, void *to,
	const void *pattern, size_t n_pattern, size_t n, cl_uint n_waits,
	const cl_event *wait_list, cl_event *event)
{
	cl_int(CL_API_CALL * real)(cl_command_queue, void *, const void *, size_t, size_t,
		cl_uint, const cl_event *, cl_event *) =
		atomic_load(&vendor.enqueue_memfill);
	struct clv_submission submission;
	cl_int r = clv_submission_begin(&submission, queue,
		clv_cost_key_bytes(CLV_COST_FILL, n), false, n_waits, wait_list, event);

	if (r != CL_SUCCESS)
		return r;
	return clv_submission_end(
		&submission, real(queue, to, pattern, n_pattern, n, submission.n_waits,
				     submission.wait_list, submission.event));
}

static cl_int CL_API_CALL wrap_clEnqueueMigrateMemINTEL(cl_command_queue queue,
	const void *at, size_t n, cl_mem_migration_flags flags, cl_uint n_waits,
	const cl_event *wait_list, cl_event *event)
{
	cl_int(CL_API_CALL * real)(cl_command_queue, const void *, size_t,
		cl_mem_migration_flags, cl_uint, const cl_event *, cl_event *) =
		atomic_load(&vendor.enqueue_migrate);
	struct clv_submission submission;
	cl_int r = clv_submission_begin(&submission, queue,
		clv_cost_key_bytes(CLV_COST_MIGRATE, n), false, n_waits, wait_list,
		event);

	if (r != CL_SUCCESS)
		return r;
	return clv_submission_end(
		&submission, real(queue, at, n, flags, submission.n_waits,
				     submission.wait_list, submission.event));
}

/* The advice may make the driver move the memory. */
static cl_int CL_API_CALL wrap_clEnqueueMemAdviseINTEL(cl_command_queue queue,
	const void *at, size_t n, cl_mem_advice_intel advice, cl_uint n_waits,
	const cl_event *wait_list, cl_event *event)
{
	cl_int(CL_API_CALL * real)(cl_command_queue, const void *, size_t,
		cl_mem_advice_intel, cl_uint, const cl_event *, cl_event *) =
		atomic_load(&vendor.enqueue_advise);
	struct clv_submission submission;
	cl_int r = clv_submission_begin(&submission, queue,
		clv_cost_key_bytes(CLV_COST_MIGRATE, n), false, n_waits, wait_list,
		event);

	if (r != CL_SUCCESS)
		return r;
	return clv_submission_end(
		&submission, real(queue, at, n, advice, submission.n_waits,
				     submission.wait_list, submission.event));
}

static const struct {
	const char *name;
	void *wrapper;
	_Atomic(void *) *vendor;
} extensions[] = {
	/* clang-format off */
	{ "clDeviceMemAllocINTEL",     wrap_clDeviceMemAllocINTEL,     &vendor.device_alloc },
	{ "clSharedMemAllocINTEL",     wrap_clSharedMemAllocINTEL,     &vendor.shared_alloc },
	{ "clHostMemAllocINTEL",       wrap_clHostMemAllocINTEL,       &vendor.host_alloc },
	{ "clMemFreeINTEL",            wrap_clMemFreeINTEL,            &vendor.mem_free },
	{ "clMemBlockingFreeINTEL",    wrap_clMemBlockingFreeINTEL,    &vendor.mem_blocking_free },
	{ "clEnqueueMemcpyINTEL",      wrap_clEnqueueMemcpyINTEL,      &vendor.enqueue_memcpy },
	{ "clEnqueueMemFillINTEL",     wrap_clEnqueueMemFillINTEL,     &vendor.enqueue_memfill },
	{ "clEnqueueMigrateMemINTEL",  wrap_clEnqueueMigrateMemINTEL,  &vendor.enqueue_migrate },
	{ "clEnqueueMemAdviseINTEL",   wrap_clEnqueueMemAdviseINTEL,   &vendor.enqueue_advise },
	/* clang-format on */
};

/* Names that core functions had as extensions. */
static const struct {
	const char *name, *core;
} aliases[] = {
	/* clang-format off */
	{ "clCreateCommandQueueWithPropertiesKHR", "clCreateCommandQueueWithProperties" },
	{ "clCreateBufferWithPropertiesINTEL",     "clCreateBufferWithProperties" },
	{ "clCreateImageWithPropertiesINTEL",      "clCreateImageWithProperties" },
	{ "clSVMAllocARM",                         "clSVMAlloc" },
	{ "clSVMFreeARM",                          "clSVMFree" },
	{ "clEnqueueSVMFreeARM",                   "clEnqueueSVMFree" },
	{ "clEnqueueSVMMemcpyARM",                 "clEnqueueSVMMemcpy" },
	{ "clEnqueueSVMMemFillARM",                "clEnqueueSVMMemFill" },
	{ "clEnqueueSVMMapARM",                    "clEnqueueSVMMap" },
	{ "clEnqueueSVMUnmapARM",                  "clEnqueueSVMUnmap" },
	/* clang-format on */
};

/* Graphics sharing passes memory and work between APIs.  Both are counted elsewhere. */
static const char *const harmless[] = {
	"clGetMemAllocInfo",
	"clEnqueueAcquire",
	"clEnqueueRelease",
	"clCreateFrom",
	"clCreateEventFrom",
	"clCreateProgram",
	"clCreateSubDevices",
	"clCreateSampler",
	"clCreateSemaphore",
	"clEnqueueWaitSemaphores",
	"clEnqueueSignalSemaphores",
};

/* Devices that belong to a decoder or a display may be other ones than the lease's. */
static const char *const suspicious[] = {
	"clEnqueue", "clCreate", "clImport", "clGetDeviceIDsFrom"};

static bool has_prefix_of(const char *name, const char *const *prefixes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static bool must_be_refused(const char *name)
{
	if (has_prefix_of(name, harmless, CLV_ARRAY_SIZE(harmless)))
		return false;
	return strstr(name, "Alloc") ||
	       has_prefix_of(name, suspicious, CLV_ARRAY_SIZE(suspicious));
}

static void report(const char *name)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&is_said))
		fprintf(stderr,
			"cleave: %s is not found: the OpenCL driver has it, but this "
			"version of cleave does not know the function and cannot limit "
			"it; a program that needs it runs with a newer cleave\n",
			name);
}

static size_t find_core(const char *name)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(aliases); i++) {
		if (strcmp(aliases[i].name, name) == 0)
			name = aliases[i].core;
	}
	return clv_opencl_find_entry(name);
}

/* The wrapper calls the driver's entry, which a driver of an earlier version lacks where
 * it has the function as an extension only. */
static void *wrap_core(size_t core, void *found)
{
	void **real = clv_opencl_entry(&clv_real, core), *none = NULL;

	if (!clv_opencl_wrapper(core))
		return found;
	__atomic_compare_exchange_n(
		real, &none, found, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return clv_opencl_wrapper(core);
}

static _Atomic(clv_opencl_lookup_function *) own_function;

void clv_opencl_set_own_lookup(clv_opencl_lookup_function *own)
{
	atomic_store(&own_function, own);
}

void *clv_opencl_lookup(const char *name, void *found)
{
	clv_opencl_lookup_function *find_own = atomic_load(&own_function);
	void *own;
	size_t core;
	bool refused;

	/* Attaches the process, because the program will call what it gets here. */
	if (!name || !found)
		return found;
	if (!clv_gate_view(&refused))
		return refused ? NULL : found;
	core = find_core(name);
	if (core != SIZE_MAX)
		return wrap_core(core, found);
	own = find_own ? find_own(name) : NULL;
	if (!own)
		own = clv_command_buffer_wrapper(name, found);
	if (own)
		return own;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(extensions); i++) {
		if (strcmp(extensions[i].name, name) != 0)
			continue;
		atomic_store(extensions[i].vendor, found);
		return extensions[i].wrapper;
	}
	if (!must_be_refused(name))
		return found;
	report(name);
	return NULL;
}

static void *CL_API_CALL wrap_clGetExtensionFunctionAddress(const char *name)
{
	return clv_opencl_lookup(name, clv_real.clGetExtensionFunctionAddress(name));
}

static void *CL_API_CALL wrap_clGetExtensionFunctionAddressForPlatform(
	cl_platform_id platform, const char *name)
{
	return clv_opencl_lookup(
		name, clv_real.clGetExtensionFunctionAddressForPlatform(platform, name));
}

#define WRAP(function) table->function = wrap_##function

void clv_opencl_wrap_extensions(cl_icd_dispatch *table)
{
	WRAP(clGetExtensionFunctionAddress);
	WRAP(clGetExtensionFunctionAddressForPlatform);
}
