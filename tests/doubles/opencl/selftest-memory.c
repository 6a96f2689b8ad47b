/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Tests of memory: charges, frees, and copied bytes. */

static cl_mem buffer(const struct rig *rig, size_t bytes)
{
	cl_int rc;
	cl_mem mem = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, bytes, NULL, &rc);

	OK(rc);
	return mem;
}

static cl_int create_code(const struct rig *rig, size_t bytes)
{
	cl_int rc;
	cl_mem mem = clCreateBuffer(rig->context, CL_MEM_READ_WRITE, bytes, NULL, &rc);

	CHECK((mem == NULL) == (rc != CL_SUCCESS));
	return rc;
}

static uint64_t live_bytes(const struct rig *rig)
{
	struct cleave_double_stats stats;

	stats_now(rig, &stats);
	return stats.live_bytes;
}

#define MIB ((size_t)1 << 20)

/* 64 MiB of device, 16 MiB the largest allocation. */
static void memory_runs_out(void)
{
	cl_ulong total, largest;
	cl_mem mems[4], sub;
	cl_buffer_region region = {0, MIB};
	struct cleave_double_stats stats;
	struct rig rig;
	cl_int rc;

	rig_init(&rig);
	OK(clGetDeviceInfo(
		rig.device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(total), &total, NULL));
	OK(clGetDeviceInfo(rig.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(largest),
		&largest, NULL));
	CHECK(total == 64 * MIB && largest == 16 * MIB);
	CHECK_CL(CL_INVALID_BUFFER_SIZE, create_code(&rig, 16 * MIB + 1));
	CHECK_CL(CL_INVALID_BUFFER_SIZE, create_code(&rig, 0));
	for (int i = 0; i < 4; i++)
		mems[i] = buffer(&rig, 16 * MIB);
	CHECK(live_bytes(&rig) == 64 * MIB);
	CHECK_CL(CL_MEM_OBJECT_ALLOCATION_FAILURE, create_code(&rig, 1));
	CHECK(clSVMAlloc(rig.context, CL_MEM_READ_WRITE, 1, 0) == NULL);
	sub = clCreateSubBuffer(mems[0], 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &rc);
	OK(rc);
	CHECK(live_bytes(&rig) == 64 * MIB);
	OK(clReleaseMemObject(mems[0]));
	CHECK(live_bytes(&rig) == 64 * MIB);
	OK(clReleaseMemObject(sub));
	CHECK(live_bytes(&rig) == 48 * MIB);
	OK(clRetainMemObject(mems[1]));
	OK(clReleaseMemObject(mems[1]));
	CHECK(live_bytes(&rig) == 48 * MIB);
	for (int i = 1; i < 4; i++)
		OK(clReleaseMemObject(mems[i]));
	stats_now(&rig, &stats);
	CHECK(stats.live_bytes == 0 && stats.peak_bytes == 64 * MIB);
	rig_done(&rig);
}

static char order[8];
static _Atomic int n_order;

static void CL_CALLBACK gone(cl_mem mem, void *user)
{
	order[atomic_load(&n_order)] = *(const char *)user;
	atomic_fetch_add(&n_order, 1);
}

static void destructors_run_when_it_is_really_gone(void)
{
	cl_buffer_region region = {0, 128};
	cl_command_queue q;
	cl_mem mem, sub;
	cl_event user;
	struct rig rig;
	char byte;
	cl_int rc;

	rig_init(&rig);
	q = rig_keep_queue(&rig, 0);
	mem = buffer(&rig, 256);
	OK(clSetMemObjectDestructorCallback(mem, gone, (void *)"a"));
	OK(clSetMemObjectDestructorCallback(mem, gone, (void *)"b"));
	OK(clSetMemObjectDestructorCallback(mem, gone, (void *)"c"));
	sub = clCreateSubBuffer(mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &rc);
	OK(rc);
	user = clCreateUserEvent(rig.context, &rc);
	OK(rc);
	OK(clEnqueueReadBuffer(q, sub, CL_FALSE, 0, 1, &byte, 1, &user, NULL));
	OK(clFlush(q));
	OK(clReleaseMemObject(mem));
	OK(clReleaseMemObject(sub));
	CHECK_CL(CL_INVALID_MEM_OBJECT,
		clEnqueueReadBuffer(q, sub, CL_FALSE, 0, 1, &byte, 0, NULL, NULL));
	nap_ms(NAP_MS);
	CHECK(atomic_load(&n_order) == 0 && live_bytes(&rig) == 256);
	OK(clSetUserEventStatus(user, CL_COMPLETE));
	OK(clFinish(q));
	while (atomic_load(&n_order) < 3)
		nap_ms(1);
	CHECK(memcmp(order, "cba", 3) == 0);
	while (live_bytes(&rig) != 0)
		nap_ms(1);
	OK(clReleaseEvent(user));
	rig_done(&rig);
}

static void kernels_hold_their_arguments_once_enqueued(void)
{
	const char *text = "__kernel void use(__global int *p, int n, __local int *l) {}";
	cl_program program;
	cl_kernel kernel;
	cl_command_queue q;
	size_t one = 1;
	struct rig rig;
	int n = 1;
	cl_mem mem;
	cl_int rc;

	rig_init(&rig);
	q = rig_keep_queue(&rig, 0);
	program = clCreateProgramWithSource(rig.context, 1, &text, NULL, &rc);
	OK(rc);
	OK(clBuildProgram(program, 1, &rig.device, NULL, NULL, NULL));
	kernel = clCreateKernel(program, "use", &rc);
	OK(rc);
	mem = buffer(&rig, 4096);
	OK(clSetMemObjectDestructorCallback(mem, gone, (void *)"x"));
	CHECK_CL(CL_INVALID_KERNEL_ARGS,
		clEnqueueNDRangeKernel(q, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
	CHECK_CL(CL_INVALID_ARG_INDEX, clSetKernelArg(kernel, 3, sizeof(n), &n));
	CHECK_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(kernel, 0, 4, &mem));
	CHECK_CL(CL_INVALID_ARG_VALUE, clSetKernelArg(kernel, 2, 64, &n));
	OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
	OK(clSetKernelArg(kernel, 1, sizeof(n), &n));
	OK(clSetKernelArg(kernel, 2, 64, NULL));
	OK(clEnqueueNDRangeKernel(q, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
	OK(clReleaseMemObject(mem));
	CHECK(live_bytes(&rig) == 4096 && atomic_load(&n_order) == 0);
	CHECK_CL(CL_INVALID_MEM_OBJECT,
		clEnqueueNDRangeKernel(q, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
	OK(clFinish(q));
	while (live_bytes(&rig) != 0)
		nap_ms(1);
	CHECK(atomic_load(&n_order) == 1);
	OK(clReleaseKernel(kernel));
	OK(clReleaseProgram(program));
	rig_done(&rig);
}

static void buffers_carry_bytes(void)
{
	size_t origin[3] = {4, 1, 0}, host_origin[3] = {0, 0, 0}, region[3] = {4, 3, 2};
	unsigned char in[256], out[256], *map;
	cl_command_queue q;
	cl_mem a, b;
	struct rig rig;
	cl_int rc;

	rig_init(&rig);
	q = rig_keep_queue(&rig, 0);
	a = buffer(&rig, 256);
	b = buffer(&rig, 256);
	for (int i = 0; i < 256; i++)
		in[i] = (unsigned char)i;
	OK(clEnqueueWriteBuffer(q, a, CL_FALSE, 0, 256, in, 0, NULL, NULL));
	OK(clEnqueueFillBuffer(q, b, "\x11\x22", 2, 0, 256, 0, NULL, NULL));
	OK(clEnqueueCopyBuffer(q, a, b, 16, 32, 64, 0, NULL, NULL));
	OK(clEnqueueReadBuffer(q, b, CL_TRUE, 0, 256, out, 0, NULL, NULL));
	CHECK(out[0] == 0x11 && out[31] == 0x22 && out[32] == 16 && out[95] == 79);
	CHECK(out[96] == 0x11);

	OK(clEnqueueReadBufferRect(q, a, CL_TRUE, origin, host_origin, region, 16, 64, 0,
		0, out, 0, NULL, NULL));
	CHECK(out[0] == 16 + 4 && out[4] == 32 + 4 && out[12] == 64 + 16 + 4);
	OK(clEnqueueCopyBufferRect(
		q, a, b, origin, host_origin, region, 16, 64, 8, 32, 0, NULL, NULL));
	OK(clEnqueueWriteBufferRect(q, a, CL_TRUE, origin, host_origin, region, 16, 64, 0,
		0, in, 0, NULL, NULL));
	OK(clEnqueueReadBuffer(q, b, CL_TRUE, 32, 1, out, 0, NULL, NULL));
	CHECK(out[0] == 64 + 16 + 4);
	CHECK_CL(CL_MEM_COPY_OVERLAP,
		clEnqueueCopyBuffer(q, a, a, 0, 8, 16, 0, NULL, NULL));
	CHECK_CL(CL_INVALID_VALUE,
		clEnqueueReadBuffer(q, a, CL_TRUE, 250, 7, out, 0, NULL, NULL));

	map = clEnqueueMapBuffer(
		q, a, CL_TRUE, CL_MAP_WRITE, 100, 10, 0, NULL, NULL, &rc);
	OK(rc);
	memset(map, 0xee, 10);
	OK(clEnqueueUnmapMemObject(q, a, map, 0, NULL, NULL));
	CHECK_CL(CL_INVALID_VALUE, clEnqueueUnmapMemObject(q, a, map, 0, NULL, NULL));
	OK(clEnqueueReadBuffer(q, a, CL_TRUE, 109, 2, out, 0, NULL, NULL));
	CHECK(out[0] == 0xee && out[1] == 110);
	OK(clEnqueueMigrateMemObjects(q, 1, &a, 0, 0, NULL, NULL));
	OK(clFinish(q));
	OK(clReleaseMemObject(a));
	OK(clReleaseMemObject(b));
	rig_done(&rig);
}

static const struct {
	cl_image_desc desc;
	size_t region[3];
} image_rows[] = {
	{{.image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = 9}, {9, 1, 1}},
	{{.image_type = CL_MEM_OBJECT_IMAGE1D_ARRAY,
		 .image_width = 9,
		 .image_array_size = 3},
		{9, 3, 1}},
	{{.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 9, .image_height = 5},
		{9, 5, 1}},
	{{.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY,
		 .image_width = 9,
		 .image_height = 5,
		 .image_array_size = 2},
		{9, 5, 2}},
	{{.image_type = CL_MEM_OBJECT_IMAGE3D,
		 .image_width = 9,
		 .image_height = 5,
		 .image_depth = 4},
		{9, 5, 4}},
	{{.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 16}, {16, 1, 1}},
};

static void images_of_every_shape(void)
{
	static const cl_float white_red[4] = {1.0f, 0.5f, 0.0f, 1.0f};
	const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
	unsigned char in[9 * 5 * 4 * 4], out[9 * 5 * 4 * 4];
	size_t zero[3] = {0, 0, 0}, row, slice;
	cl_command_queue q;
	struct rig rig;
	cl_mem bytes;
	cl_int rc;

	rig_init(&rig);
	q = rig_keep_queue(&rig, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	bytes = buffer(&rig, 1024);
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)(i * 7);
	for (size_t i = 0; i < sizeof(image_rows) / sizeof(image_rows[0]); i++) {
		const size_t *r = image_rows[i].region;
		cl_image_desc desc = image_rows[i].desc;
		uint64_t before = live_bytes(&rig);
		size_t n = r[0] * r[1] * r[2] * 4;
		unsigned char *map;
		cl_mem image;

		if (desc.image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER)
			desc.mem_object = bytes;
		image = clCreateImage(
			rig.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &rc);
		OK(rc);
		CHECK(live_bytes(&rig) - before == (desc.mem_object ? 0 : n));
		OK(clEnqueueWriteImage(
			q, image, CL_TRUE, zero, r, 0, 0, in, 0, NULL, NULL));
		memset(out, 0, sizeof(out));
		OK(clEnqueueReadImage(
			q, image, CL_TRUE, zero, r, 0, 0, out, 0, NULL, NULL));
		CHECK(memcmp(in, out, n) == 0);
		OK(clEnqueueCopyImageToBuffer(
			q, image, bytes, zero, r, 0, 0, NULL, NULL));
		OK(clEnqueueBarrierWithWaitList(q, 0, NULL, NULL));
		OK(clEnqueueFillImage(q, image, white_red, zero, r, 0, NULL, NULL));
		OK(clEnqueueBarrierWithWaitList(q, 0, NULL, NULL));
		map = clEnqueueMapImage(q, image, CL_TRUE, CL_MAP_READ, zero, r, &row,
			&slice, 0, NULL, NULL, &rc);
		OK(rc);
		CHECK(map[0] == 255 && map[1] == 128 && map[2] == 0 && map[3] == 255);
		OK(clEnqueueUnmapMemObject(q, image, map, 0, NULL, NULL));
		CHECK_CL(CL_INVALID_VALUE, clEnqueueReadImage(q, image, CL_TRUE, r, r, 0,
						   0, out, 0, NULL, NULL));
		OK(clFinish(q));
		OK(clReleaseMemObject(image));
		CHECK(live_bytes(&rig) == before);
	}
	OK(clReleaseMemObject(bytes));
	rig_done(&rig);
}

static _Atomic int svm_freed;

static void CL_CALLBACK free_svm(cl_command_queue q, cl_uint n, void *p[], void *user)
{
	for (cl_uint i = 0; i < n; i++)
		clSVMFree(user, p[i]);
	atomic_fetch_add(&svm_freed, (int)n);
}

static void svm_is_charged_and_freed_in_turn(void)
{
	cl_command_queue q;
	struct rig rig;
	void *p[2], *late;
	char out[64];

	rig_init(&rig);
	q = rig_keep_queue(&rig, 0);
	p[0] = clSVMAlloc(rig.context, CL_MEM_READ_WRITE, 4096, 0);
	p[1] = clSVMAlloc(
		rig.context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, 4096, 64);
	late = clSVMAlloc(rig.context, CL_MEM_READ_WRITE, 2 * MIB, 0);
	CHECK(p[0] && p[1] && late && live_bytes(&rig) == 8192 + 2 * MIB);
	OK(clEnqueueSVMMap(q, CL_TRUE, CL_MAP_WRITE, p[0], 4096, 0, NULL, NULL));
	memset(p[0], 5, 4096);
	OK(clEnqueueSVMUnmap(q, p[0], 0, NULL, NULL));
	OK(clEnqueueSVMMemcpy(q, CL_FALSE, p[1], p[0], 4096, 0, NULL, NULL));
	OK(clEnqueueSVMMemFill(q, p[1], "ab", 2, 32, 0, NULL, NULL));
	OK(clEnqueueSVMMemcpy(q, CL_TRUE, out, p[1], 64, 0, NULL, NULL));
	CHECK(out[0] == 'a' && out[31] == 'b' && out[32] == 5);
	OK(clEnqueueSVMFree(q, 2, p, free_svm, rig.context, 0, NULL, NULL));
	OK(clEnqueueSVMFree(q, 1, &late, NULL, NULL, 0, NULL, NULL));
	nap_ms(NAP_MS);
	CHECK(atomic_load(&svm_freed) == 0 && live_bytes(&rig) == 8192 + 2 * MIB);
	OK(clFinish(q));
	CHECK(atomic_load(&svm_freed) == 2 && live_bytes(&rig) == 0);
	rig_done(&rig);
}

static void usm_is_charged_by_kind(void)
{
	clDeviceMemAllocINTEL_fn on_device;
	clSharedMemAllocINTEL_fn shared;
	clHostMemAllocINTEL_fn on_host;
	clMemFreeINTEL_fn release;
	clGetMemAllocInfoINTEL_fn info;
	void *d, *s, *h;
	struct rig rig;
	cl_uint type;
	cl_int rc;

	rig_init(&rig);
	on_device = (clDeviceMemAllocINTEL_fn)by_name(&rig, "clDeviceMemAllocINTEL");
	shared = (clSharedMemAllocINTEL_fn)by_name(&rig, "clSharedMemAllocINTEL");
	on_host = (clHostMemAllocINTEL_fn)by_name(&rig, "clHostMemAllocINTEL");
	release = (clMemFreeINTEL_fn)by_name(&rig, "clMemFreeINTEL");
	info = (clGetMemAllocInfoINTEL_fn)by_name(&rig, "clGetMemAllocInfoINTEL");
	d = on_device(rig.context, rig.device, NULL, 1000, 0, &rc);
	OK(rc);
	s = shared(rig.context, rig.device, NULL, 2000, 0, &rc);
	OK(rc);
	h = on_host(rig.context, NULL, 4000, 0, &rc);
	OK(rc);
	CHECK(d && s && h && live_bytes(&rig) == 3000);
	OK(info(rig.context, (char *)s + 10, CL_MEM_ALLOC_TYPE_INTEL, sizeof(type), &type,
		NULL));
	CHECK(type == CL_MEM_TYPE_SHARED_INTEL);
	OK(release(rig.context, d));
	OK(release(rig.context, s));
	OK(release(rig.context, h));
	CHECK_CL(CL_INVALID_VALUE, release(rig.context, h));
	CHECK(live_bytes(&rig) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(on_device(rig.context, rig.device, NULL, 16 * MIB, 0, &rc) != NULL);
	CHECK(shared(rig.context, rig.device, NULL, 1, 0, &rc) == NULL);
	CHECK_CL(CL_OUT_OF_RESOURCES, rc);
	CHECK(on_device(rig.context, rig.device, NULL, 16 * MIB + 1, 0, &rc) == NULL);
	CHECK_CL(CL_INVALID_BUFFER_SIZE, rc);
	rig_done(&rig);
}

static void host_pointers_and_pipes_are_charged(void)
{
	static char host[1024];
	cl_mem used, copied, pipe;
	struct rig rig;
	cl_int rc;

	rig_init(&rig);
	used = clCreateBuffer(rig.context, CL_MEM_USE_HOST_PTR, 1024, host, &rc);
	OK(rc);
	copied = clCreateBuffer(rig.context, CL_MEM_COPY_HOST_PTR, 512, host, &rc);
	OK(rc);
	pipe = clCreatePipe(rig.context, 0, 16, 8, NULL, &rc);
	OK(rc);
	CHECK(live_bytes(&rig) == 1024 + 512 + 128);
	OK(clReleaseMemObject(used));
	OK(clReleaseMemObject(copied));
	OK(clReleaseMemObject(pipe));
	CHECK(live_bytes(&rig) == 0);
	rig_done(&rig);
}

static void the_nth_allocation_fails(void)
{
	struct rig rig;

	rig_init(&rig);
	OK(create_code(&rig, 16));
	OK(create_code(&rig, 16));
	CHECK_CL(CL_OUT_OF_HOST_MEMORY, create_code(&rig, 16));
	OK(create_code(&rig, 16));
	CHECK(live_bytes(&rig) == 48);
}

/* clang-format off */
#define CASE(name_, ...) { .name = #name_, .run = name_, __VA_ARGS__ }
const struct selftest_case selftest_memory[] = {
	CASE(memory_runs_out, .env = { "CLEAVE_DOUBLE_MEMORY=64M" }),
	CASE(destructors_run_when_it_is_really_gone),
	CASE(kernels_hold_their_arguments_once_enqueued),
	CASE(buffers_carry_bytes),
	CASE(images_of_every_shape),
	CASE(svm_is_charged_and_freed_in_turn),
	CASE(usm_is_charged_by_kind, .env = { "CLEAVE_DOUBLE_MEMORY=64M" }),
	CASE(host_pointers_and_pipes_are_charged),
	CASE(the_nth_allocation_fails, .env = { "CLEAVE_DOUBLE_FAIL_ALLOC=3:-6" }),
	{ 0 },
};
/* clang-format on */
