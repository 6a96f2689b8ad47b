/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one way by its name, and has what the ways through OpenCL have in common. */
#include "way.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUPS_PER_UNIT = 32, ITEMS_PER_GROUP = 4 };

static const char source[] = "__kernel void busy(__global float *out, uint loops)\n"
			     "{\n"
			     "	size_t i = get_global_id(0);\n"
			     "	float x = 1.0f + (float)i * 1e-6f;\n"
			     "	for (uint n = 0; n < loops; n++)\n"
			     "		x = x * 0.9999f + 0.0001f;\n"
			     "	out[i] = x;\n"
			     "}\n";

void way_open(struct way_device *d)
{
	cl_int r;

	memset(d, 0, sizeof(*d));
	if (clGetPlatformIDs(1, &d->platform, NULL) != CL_SUCCESS ||
		clGetDeviceIDs(d->platform, CL_DEVICE_TYPE_ALL, 1, &d->device, NULL) !=
			CL_SUCCESS) {
		way_say("no-device\n");
		exit(WAY_EXIT_NO_DEVICE);
	}
	d->context = clCreateContext(NULL, 1, &d->device, NULL, NULL, &r);
	if (r)
		way_die("clCreateContext", r);
}

/* Drivers of OpenCL 1.2 may lack the newer call (oclgrind's never returns). */
cl_command_queue way_queue(struct way_device *d, cl_command_queue_properties properties)
{
	cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
	cl_command_queue queue;
	char version[64] = "";
	cl_int r;

	clGetPlatformInfo(
		d->platform, CL_PLATFORM_VERSION, sizeof(version), version, NULL);
	if (strncmp(version, "OpenCL 1.", 9) == 0)
		queue = clCreateCommandQueue(d->context, d->device, properties, &r);
	else
		queue = clCreateCommandQueueWithProperties(
			d->context, d->device, list, &r);
	if (r)
		way_die("no queue", r);
	return queue;
}

static size_t global_items(const struct way_device *d)
{
	cl_uint units = 1;

	clGetDeviceInfo(
		d->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
	return (size_t)units * GROUPS_PER_UNIT * ITEMS_PER_GROUP;
}

static void build(struct way_device *d)
{
	const char *text = source;
	cl_program program = clCreateProgramWithSource(d->context, 1, &text, NULL, NULL);
	cl_int r = clBuildProgram(program, 1, &d->device, "", NULL, NULL);

	if (r)
		way_die("clBuildProgram", r);
	d->kernel = clCreateKernel(program, "busy", &r);
	if (r)
		way_die("clCreateKernel", r);
	d->out = clCreateBuffer(
		d->context, CL_MEM_READ_WRITE, global_items(d) * sizeof(float), NULL, &r);
	if (r)
		way_die("clCreateBuffer", r);
	clSetKernelArg(d->kernel, 0, sizeof(d->out), &d->out);
}

void way_submit(struct way_device *d, cl_command_queue queue, uint32_t us,
	cl_uint n_waits, const cl_event *waits, cl_event *event)
{
	size_t n_local = ITEMS_PER_GROUP, n_global;
	uint64_t loops_per_ms = way_number("BYPASS_LOOPS_PER_MS", 1000);
	uint64_t wanted = loops_per_ms * us / 1000;
	cl_uint loops = wanted < UINT32_MAX ? (cl_uint)wanted : UINT32_MAX;
	cl_int r;

	if (!d->kernel)
		build(d);
	n_global = global_items(d);
	clSetKernelArg(d->kernel, 1, sizeof(loops), &loops);
	r = clEnqueueNDRangeKernel(
		queue, d->kernel, 1, NULL, &n_global, &n_local, n_waits, waits, event);
	if (r)
		way_die("clEnqueueNDRangeKernel", r);
}

void way_flood(struct way_device *d, cl_command_queue queue, uint32_t us, uint32_t batch)
{
	cl_event before = NULL, event;

	while (way_goes_on()) {
		for (uint32_t i = 0; i < batch; i++)
			way_submit(d, queue, us, 0, NULL, i + 1 == batch ? &event : NULL);
		clFlush(queue);
		if (before) {
			clWaitForEvents(1, &before);
			clReleaseEvent(before);
		}
		before = event;
	}
}

size_t way_take_buffers(struct way_device *d, size_t n_pieces_max)
{
	size_t n = 0;
	cl_int r = 0;

	while (n < n_pieces_max) {
		clCreateBuffer(d->context, CL_MEM_READ_WRITE, WAY_PIECE_BYTES, NULL, &r);
		if (r)
			break;
		n++;
	}
	way_say("got %zu code %d\n", n * WAY_PIECE_BYTES, r);
	return n;
}

/* --- The shim --- */

const uint64_t gpu_ms = 2000;
const size_t gpu_pieces_max = WAY_PIECES_MAX, gpu_piece_bytes = WAY_PIECE_BYTES;
char gpu_way_of_memory[] = "buffer";

static struct way_device opened;

void gpu_open(void)
{
	way_open(&opened);
}

int gpu_take_piece(void)
{
	cl_int r = 0;

	clCreateBuffer(opened.context, CL_MEM_READ_WRITE, WAY_PIECE_BYTES, NULL, &r);
	return r;
}

void gpu_take_inherited(void)
{
	way_take_buffers(&opened, WAY_PIECES_MAX);
}

void gpu_take_all(void)
{
	gpu_open();
	gpu_take_inherited();
}

void gpu_take_half(void)
{
	gpu_open();
	way_take_buffers(&opened, way_number("BYPASS_HALF_PIECES", 4));
}

/* All processes have tried by then. */
void gpu_keep(void)
{
	usleep(1000000);
}

/* --- Modes that bypass nothing --- */

/* The number of loops in a millisecond, by the fastest of some runs. */
static int calibrate(char **arguments)
{
	struct way_device d;
	cl_command_queue queue;
	uint64_t best_ns = UINT64_MAX, before_ns;

	way_open(&d);
	queue = way_queue(&d, 0);
	for (int i = 0; i < 20; i++) {
		before_ns = way_now_ns();
		way_submit(&d, queue, 10000, 0, NULL, NULL);
		clFinish(queue);
		if (way_now_ns() - before_ns < best_ns)
			best_ns = way_now_ns() - before_ns;
	}
	way_say("loops %llu\n", 10000ull * 1000000 / best_ns);
	return 0;
}

static void *flood_for_ever(void *userdata)
{
	struct way_device d = *(struct way_device *)userdata;

	way_flood(&d, way_queue(&d, 0), 1000, 16);
	return NULL;
}

/* Keeps the device busy until it is killed.  Several threads, so that it always has work
 * ready: a lease without work gives its share away, and then the other lease's share
 * would prove nothing. */
static int neighbour(char **arguments)
{
	struct way_device d;
	pthread_t threads[3];

	way_open(&d);
	way_take_buffers(&d, 4);
	way_begin();
	way_never_end();
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, flood_for_ever, &d);
	pthread_join(threads[0], NULL);
	return 0;
}

/* Opens the device and does nothing. */
static int hold(char **arguments)
{
	struct way_device d;

	way_open(&d);
	way_begin();
	way_end();
	return 0;
}

static const struct way way_common[] = {
	{"calibrate", calibrate}, {"neighbour", neighbour}, {"hold", hold}, {NULL, NULL}};

static const struct way *const families[] = {way_common, way_memory, way_processes,
	way_descriptors, way_pages, way_work, way_work_events, way_floods};

int main(int argc, char **argv)
{
	int r = way_run(families, sizeof(families) / sizeof(families[0]), argv + 1);

	if (r < 0 && argc > 1) {
		way_run_taking(argv[1]);
		way_run_rounds(argv[1]);
		way_run_flood(argv[1]);
	}
	if (r < 0)
		fprintf(stderr, "bypass: no such way: %s\n",
			argc > 1 ? argv[1] : "(none)");
	return r < 0 ? 64 : r;
}
