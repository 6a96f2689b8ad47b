/* SPDX-License-Identifier: Apache-2.0 */
/* A vendor's library, as far as loaders and the gate use it: one platform, four devices.
 * With ICD2 it is one of cl_khr_icd 2.0.0, whose table begins with a tag and is used
 * through the loader's own. VENDOR_VERSION is its OpenCL version (1.2), and VENDOR_LACKS
 * a mandatory call that it lacks; the table has the length of 1.2, with vendor_behind
 * behind it. With VENDOR_EDGE the table ends where a page does: "unmapped" and nothing is
 * behind it, or "read-only". A device has two parts; with VENDOR_STRANGE the second is
 * another device. With VENDOR_UUIDS the bytes of a device's UUID are its number, from 1
 * on, and its type is this; without, it has none. The first query of devices starts
 * VENDOR_THREADS threads, vendor_threads, and calls vendor_meanwhile before the last of
 * them. */
#include <CL/cl_icd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define N_DEVICES 4
#define N_PARTS 2
#define N_ENTRIES 108 /* of OpenCL 1.2 */
#define N_BEHIND 60
#define MAX_THREADS 8
#define ENTRY(function) (offsetof(cl_icd_dispatch, function) / sizeof(void *))

struct object {
	void **table;
	void *data;
};

static struct {
	void *table[N_ENTRIES];
	void *behind[N_BEHIND];
} words;

static atomic_int n_threads;

static struct object platform;
static struct object devices[N_DEVICES], parts[N_PARTS], context, buffer;
static cl_device_id divided;

EXPORT void *clGetExtensionFunctionAddress(const char *name);
EXPORT void *clSVMAlloc(
	cl_context of, cl_svm_mem_flags flags, size_t n, cl_uint alignment);
EXPORT void *const *vendor_behind(void);
EXPORT extern pid_t vendor_threads[MAX_THREADS];
EXPORT extern void (*vendor_meanwhile)(void);

pid_t vendor_threads[MAX_THREADS];
void (*vendor_meanwhile)(void);

void *const *vendor_behind(void)
{
	return words.behind;
}

void *clSVMAlloc(cl_context of, cl_svm_mem_flags flags, size_t n, cl_uint alignment)
{
	return NULL;
}

static cl_int CL_API_CALL get_platforms(cl_uint room, cl_platform_id *ret, cl_uint *ret_n)
{
	if (ret && room > 0)
		ret[0] = (cl_platform_id)(void *)&platform;
	if (ret_n)
		*ret_n = 1;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_platform_info(
	cl_platform_id of, cl_platform_info what, size_t room, void *ret, size_t *ret_n)
{
	const char *version = getenv("VENDOR_VERSION");
	char text[64] = "test";

	if (what == CL_PLATFORM_VERSION)
		snprintf(text, sizeof(text), "OpenCL %s test", version ? version : "1.2");
	if (ret)
		snprintf(ret, room, "%s", text);
	if (ret_n)
		*ret_n = strlen(text) + 1;
	return CL_SUCCESS;
}

static void *work(void *started)
{
	vendor_threads[atomic_fetch_add(&n_threads, 1)] = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(started);
	for (;;)
		pause();
	return NULL;
}

static void start_threads(void)
{
	const char *said = getenv("VENDOR_THREADS");
	int n = said ? atoi(said) : 0;
	pthread_barrier_t started;
	pthread_t thread;

	pthread_barrier_init(&started, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++) {
		if (i == n - 1 && vendor_meanwhile)
			vendor_meanwhile();
		if (pthread_create(&thread, NULL, work, &started) != 0)
			abort();
	}
	pthread_barrier_wait(&started);
	pthread_barrier_destroy(&started);
}

/* Fills the given array as far as there are devices; none is a GPU. */
static cl_int CL_API_CALL get_devices(cl_platform_id of, cl_device_type type,
	cl_uint room, cl_device_id *ret, cl_uint *ret_n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start_threads);
	if (type == CL_DEVICE_TYPE_GPU)
		return CL_DEVICE_NOT_FOUND;
	for (cl_uint i = 0; ret && i < room && i < N_DEVICES; i++)
		ret[i] = (cl_device_id)(void *)&devices[i];
	if (ret_n)
		*ret_n = N_DEVICES;
	return CL_SUCCESS;
}

/* As of cl_amd_copy_buffer_p2p and cl_khr_command_buffer_multi_device: the number of the
 * devices that work together with one, and these, which are all here. */
static cl_int get_other_devices(
	cl_device_info what, size_t room, void *ret, size_t *ret_n)
{
	bool is_number = what == 0x4088 || what == 0x12AB;
	size_t n = is_number ? sizeof(cl_uint) : N_DEVICES * sizeof(cl_device_id);

	if (ret && room < n)
		return CL_INVALID_VALUE;
	for (size_t i = 0; ret && !is_number && i < N_DEVICES; i++)
		((cl_device_id *)ret)[i] = (cl_device_id)(void *)&devices[i];
	if (ret && is_number)
		*(cl_uint *)ret = N_DEVICES;
	if (ret_n)
		*ret_n = n;
	return CL_SUCCESS;
}

static bool is_part(const void *device)
{
	return device == &parts[0] || device == &parts[1];
}

/* True: this answers. */
static bool get_identity(cl_device_id of, cl_device_info what, size_t room, void *ret)
{
	const char *type = getenv("VENDOR_UUIDS");

	if (!type || !ret || (what != CL_DEVICE_TYPE && what != CL_DEVICE_UUID_KHR))
		return false;
	if (what == CL_DEVICE_TYPE)
		*(cl_device_type *)ret = strtoul(type, NULL, 0);
	else
		memset(ret, (int)((struct object *)of - devices) + 1, room);
	return true;
}

static cl_int CL_API_CALL get_device_info(
	cl_device_id of, cl_device_info what, size_t room, void *ret, size_t *ret_n)
{
	if (get_identity(of, what, room, ret))
		return CL_SUCCESS;
	if (what == CL_DEVICE_PARENT_DEVICE && is_part(of)) {
		*(cl_device_id *)ret = divided;
		return CL_SUCCESS;
	}
	if (what == 0x4088 || what == 0x4089 || what == 0x12AB || what == 0x12AC)
		return get_other_devices(what, room, ret, ret_n);
	if (ret)
		memset(ret, 0, room);
	return CL_SUCCESS;
}

/* Writes all of the room that it is given: other devices behind the parts. */
static cl_int CL_API_CALL divide(cl_device_id device, const void *properties,
	cl_uint room, cl_device_id *ret, cl_uint *ret_n)
{
	if (ret && room < N_PARTS)
		return CL_INVALID_VALUE;
	divided = device;
	for (cl_uint i = 0; ret && i < room; i++)
		ret[i] = (cl_device_id)(void *)(i < N_PARTS ? &parts[i] : &devices[0]);
	if (ret && getenv("VENDOR_STRANGE"))
		ret[1] = (cl_device_id)(void *)&devices[0];
	if (ret_n)
		*ret_n = N_PARTS;
	return CL_SUCCESS;
}

/* As if all devices could be used with the OpenGL context. */
static cl_int CL_API_CALL get_gl_info(const cl_context_properties *properties,
	cl_gl_context_info what, size_t room, void *ret, size_t *ret_n)
{
	return get_other_devices(0x4089, room, ret, ret_n);
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties,
	cl_uint n, const cl_device_id *of,
	void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
	void *userdata, cl_int *ret_error)
{
	if (ret_error)
		*ret_error = CL_SUCCESS;
	return (cl_context)(void *)&context;
}

static cl_mem CL_API_CALL create_buffer(
	cl_context of, cl_mem_flags flags, size_t n, void *host, cl_int *ret_error)
{
	if (ret_error)
		*ret_error = CL_SUCCESS;
	return (cl_mem)(void *)&buffer;
}

static cl_int CL_API_CALL set_destructor(
	cl_mem of, void(CL_CALLBACK *function)(cl_mem, void *), void *userdata)
{
	return CL_SUCCESS;
}

static cl_int CL_API_CALL get_context_info(
	cl_context of, cl_context_info what, size_t room, void *ret, size_t *ret_n)
{
	return CL_INVALID_VALUE;
}

/* cl_khr_create_command_queue, which a driver of OpenCL 1.2 may have. */
static cl_command_queue CL_API_CALL create_queue(cl_context of, cl_device_id on,
	const cl_queue_properties *properties, cl_int *ret_error)
{
	*ret_error = CL_INVALID_QUEUE_PROPERTIES;
	return NULL;
}

/* For the calls that the tests do not make. */
static cl_int CL_API_CALL fail(void)
{
	return CL_INVALID_OPERATION;
}

static const struct {
	const char *name;
	size_t entry;
	void *function;
} functions[] = {
#define ROW(name, function)                                       \
	{                                                         \
#name, ENTRY(name), (void *)(uintptr_t)(function) \
	}
	ROW(clGetPlatformInfo, get_platform_info),
	ROW(clGetDeviceIDs, get_devices),
	ROW(clGetDeviceInfo, get_device_info),
	ROW(clCreateSubDevices, divide),
	ROW(clCreateSubDevicesEXT, divide),
	ROW(clReleaseDevice, fail),
	ROW(clGetGLContextInfoKHR, get_gl_info),
	ROW(clCreateContext, create_context),
	ROW(clGetContextInfo, get_context_info),
	ROW(clCreateBuffer, create_buffer),
	ROW(clSetMemObjectDestructorCallback, set_destructor),
	ROW(clReleaseContext, fail),
	ROW(clReleaseCommandQueue, fail),
	ROW(clGetCommandQueueInfo, fail),
	ROW(clReleaseMemObject, fail),
	ROW(clGetMemObjectInfo, fail),
	ROW(clGetKernelInfo, fail),
	ROW(clWaitForEvents, fail),
	ROW(clGetEventInfo, fail),
	ROW(clRetainEvent, fail),
	ROW(clReleaseEvent, fail),
	ROW(clCreateUserEvent, fail),
	ROW(clSetUserEventStatus, fail),
	ROW(clFlush, fail),
	ROW(clFinish, fail),
	ROW(clEnqueueMarkerWithWaitList, fail),
#undef ROW
};

static bool has(size_t i)
{
	const char *lacks = getenv("VENDOR_LACKS");

	return !lacks || strcmp(functions[i].name, lacks) != 0;
}

static void **to_the_edge(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *table = pages + page - sizeof(words.table);
	bool is_mapped = strcmp(getenv("VENDOR_EDGE"), "unmapped") != 0;

	memcpy(table, &words, is_mapped ? sizeof(words) : sizeof(words.table));
	if (is_mapped ? mprotect(pages, 2 * page, PROT_READ) : munmap(pages + page, page))
		abort();
	return (void **)table;
}

static __attribute__((constructor)) void fill(void)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (has(i))
			words.table[functions[i].entry] = functions[i].function;
	}
	for (size_t i = 0; i < N_BEHIND; i++)
		words.behind[i] = (void *)(uintptr_t)get_platforms;
	words.behind[ENTRY(clSVMAlloc) - N_ENTRIES] = (void *)(uintptr_t)clSVMAlloc;
	platform.table = getenv("VENDOR_EDGE") ? to_the_edge() : words.table;
	for (size_t i = 0; i < N_DEVICES; i++)
		devices[i].table = platform.table;
	for (size_t i = 0; i < N_PARTS; i++)
		parts[i].table = platform.table;
	context.table = buffer.table = platform.table;
#ifdef ICD2
	words.table[0] = (void *)0x4F50454E434C3331; /* CL_ICD2_TAG_KHR */
#endif
}

#ifdef ICD2
static void *function_of(const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (has(i) && strcmp(functions[i].name, name) == 0)
			return functions[i].function;
	}
	return NULL;
}

static void *CL_API_CALL get_function(cl_platform_id of, const char *name)
{
	return (void *)of == &platform ? function_of(name) : NULL;
}

static cl_int CL_API_CALL set_data(cl_platform_id of, void *data)
{
	if ((void *)of != &platform)
		return CL_INVALID_PLATFORM;
	platform.data = data;
	return CL_SUCCESS;
}
#endif

void *clGetExtensionFunctionAddress(const char *name)
{
	if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
		return (void *)(uintptr_t)get_platforms;
#ifdef ICD2
	if (strcmp(name, "clIcdGetFunctionAddressForPlatformKHR") == 0)
		return (void *)(uintptr_t)get_function;
	if (strcmp(name, "clIcdSetPlatformDispatchDataKHR") == 0)
		return (void *)(uintptr_t)set_data;
#endif
	if (strcmp(name, "clGetDeviceIDsFromVendor") == 0)
		return (void *)(uintptr_t)get_devices;
	if (strcmp(name, "clCreateCommandQueueWithPropertiesKHR") == 0 ||
		strcmp(name, "clCreateFutureEXT") == 0)
		return (void *)(uintptr_t)create_queue;
	return NULL;
}
