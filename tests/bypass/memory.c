/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to get more memory than the quota: each call that creates an object with memory of
 * its own, and objects that outlive what created them.  Each allocates pieces of one size
 * until it is refused, or far beyond any quota that the referee sets. */
#include "way.h"

#include <CL/cl_ext.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Four bytes per pixel. */
static const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};

#define WIDTH 2048
#define HEIGHT (WAY_PIECE_BYTES / 4 / WIDTH)

static const cl_image_desc image = {
	.image_type = CL_MEM_OBJECT_IMAGE2D,
	.image_width = WIDTH,
	.image_height = HEIGHT,
};

#define MAKING(name, call)                                          \
	static void *make_##name(struct way_device *d, cl_int *ret) \
	{                                                           \
		return (call);                                      \
	}

static void *own_memory(void)
{
	void *memory = NULL;

	return posix_memalign(&memory, 4096, WAY_PIECE_BYTES) == 0 ? memory : NULL;
}

MAKING(buffer, clCreateBuffer(d->context, CL_MEM_READ_WRITE, WAY_PIECE_BYTES, NULL, ret))
MAKING(buffer_with_properties, clCreateBufferWithProperties(d->context, NULL,
				       CL_MEM_READ_WRITE, WAY_PIECE_BYTES, NULL, ret))
MAKING(buffer_on_host,
	clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
		WAY_PIECE_BYTES, NULL, ret))
MAKING(buffer_over_pointer,
	clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
		WAY_PIECE_BYTES, own_memory(), ret))
MAKING(image, clCreateImage(d->context, CL_MEM_READ_WRITE, &format, &image, NULL, ret))
MAKING(image_with_properties, clCreateImageWithProperties(d->context, NULL,
				      CL_MEM_READ_WRITE, &format, &image, NULL, ret))
MAKING(image_2d, clCreateImage2D(d->context, CL_MEM_READ_WRITE, &format, WIDTH, HEIGHT, 0,
			 NULL, ret))
MAKING(image_3d, clCreateImage3D(d->context, CL_MEM_READ_WRITE, &format, WIDTH / 16,
			 HEIGHT, 16, 0, 0, NULL, ret))
MAKING(pipe, clCreatePipe(d->context, 0, 1024, WAY_PIECE_BYTES / 1024, NULL, ret))

/* An image one pixel wide, whose size multiplies in a driver that pads rows. */
static size_t take_narrow(struct way_device *d, size_t n_rows, cl_int *ret)
{
	const cl_image_desc narrow = {
		.image_type = CL_MEM_OBJECT_IMAGE2D,
		.image_width = 1,
		.image_height = n_rows,
	};
	cl_mem made =
		clCreateImage(d->context, CL_MEM_READ_WRITE, &format, &narrow, NULL, ret);
	size_t n_bytes = 0;

	if (made)
		clGetMemObjectInfo(made, CL_MEM_SIZE, sizeof(n_bytes), &n_bytes, NULL);
	return n_bytes;
}

/* An image of a thousandth of the quota that is larger than the quota when padded; then
 * smaller ones, as many as possible. */
static int way_padded_images(char **arguments)
{
	static const size_t n_rows[] = {16384, 1024};
	struct way_device d;
	size_t got, sum = 0;
	cl_int r;

	way_open(&d);
	for (size_t i = 0; i < sizeof(n_rows) / sizeof(n_rows[0]); i++) {
		for (int n = 0; n < WAY_PIECES_MAX; n++) {
			got = take_narrow(&d, n_rows[i], &r);
			if (got == 0)
				break;
			sum += got;
		}
	}
	way_say("got %zu code %d\n", sum, r);
	return 0;
}

static void *make_svm(struct way_device *d, cl_int *ret)
{
	void *memory = clSVMAlloc(d->context, CL_MEM_READ_WRITE, WAY_PIECE_BYTES, 0);

	*ret = memory ? 0 : CL_MEM_OBJECT_ALLOCATION_FAILURE;
	return memory;
}

/* Freed by a context or queue to which the memory does not belong, so the driver keeps
 * it. */
static cl_context other_context;
static cl_command_queue other_queue;

static void make_other(struct way_device *d)
{
	struct way_device other = *d;
	cl_int r;

	if (other_context)
		return;
	other_context = clCreateContext(NULL, 1, &d->device, NULL, NULL, &r);
	if (r)
		way_die("clCreateContext", r);
	other.context = other_context;
	other_queue = way_queue(&other, 0);
}

static void *make_svm_for_other_context(struct way_device *d, cl_int *ret)
{
	void *memory = make_svm(d, ret);

	make_other(d);
	clSVMFree(other_context, memory);
	return memory;
}

static void *make_svm_for_other_queue(struct way_device *d, cl_int *ret)
{
	void *memory = make_svm(d, ret), *freed = memory;

	make_other(d);
	if (memory)
		clEnqueueSVMFree(other_queue, 1, &freed, NULL, NULL, 0, NULL, NULL);
	clFinish(other_queue);
	return memory;
}

static void CL_CALLBACK keep(
	cl_command_queue queue, cl_uint n, void **pointers, void *userdata)
{
}

static void *make_svm_that_is_kept(struct way_device *d, cl_int *ret)
{
	static cl_command_queue queue;
	void *memory = make_svm(d, ret), *freed = memory;

	if (!queue)
		queue = way_queue(d, 0);
	if (memory)
		clEnqueueSVMFree(queue, 1, &freed, keep, NULL, 0, NULL, NULL);
	clFinish(queue);
	return memory;
}

/* Intel's unified shared memory, looked up by name; the headers of this version have no
 * prototypes. */
typedef void *(*usm_on_device)(
	cl_context, cl_device_id, const cl_bitfield *, size_t, cl_uint, cl_int *);
typedef void *(*usm_on_host)(cl_context, const cl_bitfield *, size_t, cl_uint, cl_int *);

static void *find(struct way_device *d, const char *name)
{
	void *function = clGetExtensionFunctionAddressForPlatform(d->platform, name);

	if (!function)
		way_die(name, 0);
	return function;
}

MAKING(usm_device, ((usm_on_device)find(d, "clDeviceMemAllocINTEL"))(
			   d->context, d->device, NULL, WAY_PIECE_BYTES, 0, ret))
MAKING(usm_shared, ((usm_on_device)find(d, "clSharedMemAllocINTEL"))(
			   d->context, d->device, NULL, WAY_PIECE_BYTES, 0, ret))
MAKING(usm_host, ((usm_on_host)find(d, "clHostMemAllocINTEL"))(
			 d->context, NULL, WAY_PIECE_BYTES, 0, ret))

static void *make_usm_for_other_context(struct way_device *d, cl_int *ret)
{
	cl_int (*free_usm)(cl_context, void *) = find(d, "clMemFreeINTEL");
	usm_on_device alloc = (usm_on_device)find(d, "clDeviceMemAllocINTEL");
	void *memory = alloc(d->context, d->device, NULL, WAY_PIECE_BYTES, 0, ret);

	make_other(d);
	if (memory)
		free_usm(other_context, memory);
	return memory;
}

static size_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	size_t all, resident = 0;

	if (!file || fscanf(file, "%zu %zu", &all, &resident) != 2)
		way_die("/proc/self/statm", 0);
	fclose(file);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static cl_mem make_used(struct way_device *d, cl_command_queue queue, cl_int *ret)
{
	static const char zero;
	cl_mem buffer = clCreateBuffer(d->context, CL_MEM_READ_WRITE, 1, NULL, ret);

	if (buffer)
		clEnqueueFillBuffer(queue, buffer, &zero, 1, 0, 1, 0, NULL, NULL);
	return buffer;
}

/* As many buffers of one byte as possible, each used: the result is the memory that they
 * take of the machine, which is the memory of this device. */
static int way_small_buffers(char **arguments)
{
	struct way_device d;
	cl_command_queue queue;
	cl_mem buffer;
	size_t before, n = 0;
	cl_int r = 0;

	way_open(&d);
	queue = way_queue(&d, 0);
	/* A driver compiles the first fill. */
	buffer = make_used(&d, queue, &r);
	clFinish(queue);
	clReleaseMemObject(buffer);
	before = resident_bytes();
	while (n < 400000 && make_used(&d, queue, &r)) {
		if (++n % 1000 == 0)
			clFinish(queue);
	}
	clFinish(queue);
	way_say("got %zu code %d\n", resident_bytes() - before, r);
	return 0;
}

/* A core function, looked up by name before any other call. */
static int way_by_name(char **arguments)
{
	cl_mem (*create)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
	struct way_device d;
	size_t n = 0;
	cl_int r = 0;

	create = clGetExtensionFunctionAddress("clCreateBuffer");
	way_open(&d);
	if (!create)
		create = clGetExtensionFunctionAddressForPlatform(
			d.platform, "clCreateBuffer");
	if (!create)
		create = clCreateBuffer;
	while (n < WAY_PIECES_MAX &&
		create(d.context, CL_MEM_READ_WRITE, WAY_PIECE_BYTES, NULL, &r))
		n++;
	way_say("got %zu code %d\n", n * WAY_PIECE_BYTES, r);
	return 0;
}

/* A small sub-buffer keeps all of a released buffer alive. */
static void *make_sub_buffer(struct way_device *d, cl_int *ret)
{
	cl_buffer_region part = {0, 4096};
	cl_mem whole = make_buffer(d, ret);

	if (!whole)
		return NULL;
	clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &part, ret);
	clReleaseMemObject(whole);
	if (*ret)
		way_die("clCreateSubBuffer", *ret);
	return whole;
}

/* Retained once and released once: the object still exists. */
static void *make_retained(struct way_device *d, cl_int *ret)
{
	cl_mem buffer = make_buffer(d, ret);

	if (buffer) {
		clRetainMemObject(buffer);
		clReleaseMemObject(buffer);
	}
	return buffer;
}

/* Released by the program, but in use by a command that waits for the program. */
static int way_in_use(char **arguments)
{
	static const char zero;
	struct way_device d;
	cl_command_queue queue;
	cl_event event;
	cl_mem buffer;
	size_t n = 0;
	cl_int r = 0;

	way_open(&d);
	queue = way_queue(&d, 0);
	event = clCreateUserEvent(d.context, NULL);
	while (n < WAY_PIECES_MAX) {
		buffer = clCreateBuffer(
			d.context, CL_MEM_READ_WRITE, WAY_PIECE_BYTES, NULL, &r);
		if (!buffer)
			break;
		clEnqueueFillBuffer(queue, buffer, &zero, 1, 0, 4096, 1, &event, NULL);
		clFlush(queue);
		clReleaseMemObject(buffer);
		n++;
	}
	way_say("got %zu code %d\n", n * WAY_PIECE_BYTES, r);
	clSetUserEventStatus(event, CL_COMPLETE);
	clFinish(queue);
	return 0;
}

/* Sizes at which a sum of bytes overflows. */
static int way_wrapped_size(char **arguments)
{
	static const size_t sizes[] = {
		SIZE_MAX, SIZE_MAX - WAY_PIECE_BYTES, SIZE_MAX / 2 + 1};
	struct way_device d;
	cl_int r = 0;

	way_open(&d);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		clCreateBuffer(d.context, CL_MEM_READ_WRITE, sizes[i], NULL, &r);
		clSVMAlloc(d.context, CL_MEM_READ_WRITE, sizes[i], 0);
	}
	way_take_buffers(&d, WAY_PIECES_MAX);
	return 0;
}

static void *take_in_thread(void *userdata)
{
	cl_int r = 0;
	size_t n = 0;

	/* Two requests that race may both be refused, so each is tried again. */
	for (int refused = 0; refused < 20 && n < WAY_PIECES_MAX;) {
		struct way_device *d = userdata;

		clCreateBuffer(d->context, CL_MEM_READ_WRITE, WAY_PIECE_BYTES, NULL, &r);
		if (r)
			refused++;
		else
			n++;
	}
	way_say("got %zu code %d\n", n * WAY_PIECE_BYTES, r);
	return NULL;
}

static int way_threads(char **arguments)
{
	struct way_device d;
	pthread_t threads[8];

	way_open(&d);
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, take_in_thread, &d);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* Arrays with more room than there are devices, for each call that fills one on PoCL. */
#define ROOM 8

static const char *const fills[] = {"clGetPlatformIDs", "clGetDeviceIDs",
	"clGetContextInfo", "clGetProgramInfo", "clCreateSubDevices"};

static void fill_from_context(cl_platform_id platform, int what, void *array)
{
	static const char *const text = "__kernel void none(void) {}";
	cl_context_properties properties[] = {
		CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
	cl_context context =
		clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, NULL);
	cl_program program;

	if (what == 2)
		clGetContextInfo(context, CL_CONTEXT_DEVICES, ROOM * sizeof(cl_device_id),
			array, NULL);
	if (what != 3)
		return;
	program = clCreateProgramWithSource(
		context, 1, (const char **)(uintptr_t)&text, NULL, NULL);
	clGetProgramInfo(
		program, CL_PROGRAM_DEVICES, ROOM * sizeof(cl_device_id), array, NULL);
}

/* Where a device has no parts its driver may lack the call. */
static void divide(cl_device_id own, void *array)
{
	static const cl_device_partition_property by_one[] = {
		CL_DEVICE_PARTITION_EQUALLY, 1, 0};
	cl_uint n_parts = 0;

	clGetDeviceInfo(own, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof(n_parts),
		&n_parts, NULL);
	if (n_parts > 1)
		clCreateSubDevices(own, by_one, ROOM, array, NULL);
}

static void fill(int what, cl_platform_id platform, cl_device_id own, void *array)
{
	if (what == 0)
		clGetPlatformIDs(ROOM, array, NULL);
	else if (what == 1)
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, ROOM, array, NULL);
	else if (what == 4)
		divide(own, array);
	else
		fill_from_context(platform, what, array);
}

/* Whether it is the device, or a part of it. */
static bool is_own(cl_device_id own, cl_device_id device)
{
	cl_device_id parent = NULL;

	clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent, NULL);
	return device == own || parent == own;
}

/* Any handle is one too many, whatever can be done with it. */
static int way_other_devices(char **arguments)
{
	struct way_device d;
	int n_filled = 0;

	way_open(&d);
	for (int what = 0; what < (int)(sizeof(fills) / sizeof(fills[0])); what++) {
		void *array[ROOM] = {NULL};

		fill(what, d.platform, d.device, array);
		n_filled += array[0] != NULL;
		for (int i = 0; i < ROOM; i++) {
			if (!array[i] || (what == 0 && array[i] == (void *)d.platform) ||
				(what > 0 && is_own(d.device, array[i])))
				continue;
			way_say("yes %s fills entry %d\n", fills[what], i);
			return 0;
		}
	}
	way_say("no other device by %d calls\n", n_filled);
	return 0;
}

/* The lease's device has a name that begins with the argument. */
static int way_hidden_device(char **arguments)
{
	struct way_device d;
	char name[128] = "";

	way_open(&d);
	clGetDeviceInfo(d.device, CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
	way_say("%s: the device is %s\n",
		strncmp(name, arguments[0], strlen(arguments[0])) == 0 ? "no" : "yes",
		name);
	return 0;
}

static const struct {
	const char *name;
	void *(*make)(
		struct way_device *d, cl_int *ret_error); /* one piece; NULL: refused */
} takings[] = {
	{"svm", make_svm},
	{"svm-other-context", make_svm_for_other_context},
	{"svm-other-queue", make_svm_for_other_queue},
	{"svm-kept", make_svm_that_is_kept},
	{"usm-other-context", make_usm_for_other_context},
	{"buffer", make_buffer},
	{"buffer-with-properties", make_buffer_with_properties},
	{"buffer-on-host", make_buffer_on_host},
	{"buffer-over-pointer", make_buffer_over_pointer},
	{"image", make_image},
	{"image-with-properties", make_image_with_properties},
	{"image-2d", make_image_2d},
	{"image-3d", make_image_3d},
	{"pipe", make_pipe},
	{"usm-device", make_usm_device},
	{"usm-shared", make_usm_shared},
	{"usm-host", make_usm_host},
	{"sub-buffer", make_sub_buffer},
	{"retained", make_retained},
};

void way_run_taking(const char *name)
{
	struct way_device d;
	size_t n = 0;
	cl_int r = 0;

	for (size_t i = 0; i < sizeof(takings) / sizeof(takings[0]); i++) {
		if (strcmp(takings[i].name, name) != 0)
			continue;
		way_open(&d);
		while (n < WAY_PIECES_MAX && takings[i].make(&d, &r))
			n++;
		way_say("got %zu code %d\n", n * WAY_PIECE_BYTES, r);
		exit(0);
	}
}

const struct way way_memory[] = {
	{"other-devices", way_other_devices},
	{"hidden-device", way_hidden_device},
	{"padded-images", way_padded_images},
	{"small-buffers", way_small_buffers},
	{"by-name", way_by_name},
	{"in-use", way_in_use},
	{"wrapped-size", way_wrapped_size},
	{"memory-threads", way_threads},
	{NULL, NULL},
};
