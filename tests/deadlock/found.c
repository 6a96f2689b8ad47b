/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of users: contexts that come and go in a callback, destructors of memory that
 * submit, a child that is the first to use the device, a thread of low priority that
 * shares the gate with one that computes, and memory that takes the place of memory that
 * was released.
 *
 * usage: found list | competitor | CASE */
#include "program.h"

#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

#define N_ROUNDS 40
#define US 200

static cl_command_queue queue;
static _Atomic int n_left;
static sem_t is_done;

static void begin(void)
{
	open_device();
	queue = open_queue(0);
	atomic_store(&n_left, N_ROUNDS);
}

/* The driver may have locks where it calls this, and its one thread computes. */
static void come_and_go(void)
{
	cl_int r;
	cl_context other = clCreateContext(NULL, 1, &device, NULL, NULL, &r);
	cl_command_queue in_other;

	CHECK(r);
	in_other = clCreateCommandQueue(other, device, 0, &r);
	CHECK(r);
	CHECK(clReleaseCommandQueue(in_other));
	CHECK(clReleaseContext(other));
}

static void CL_CALLBACK next_context(cl_event event, cl_int status, void *userdata)
{
	cl_event next;

	(void)status;
	(void)userdata;
	CHECK(clReleaseEvent(event));
	come_and_go();
	if (atomic_fetch_sub(&n_left, 1) == 1) {
		sem_post(&is_done);
		return;
	}
	launch(queue, US, 0, NULL, &next);
	CHECK(clSetEventCallback(next, CL_COMPLETE, next_context, NULL));
	CHECK(clFlush(queue));
}

static void cbcontext(void)
{
	cl_event event;

	begin();
	sem_init(&is_done, 0, 0);
	launch(queue, US, 0, NULL, &event);
	CHECK(clSetEventCallback(event, CL_COMPLETE, next_context, NULL));
	CHECK(clFlush(queue));
	while (sem_wait(&is_done) != 0)
		;
	CHECK(clFinish(queue));
}

static void CL_CALLBACK submit(cl_mem memory, void *userdata)
{
	(void)memory;
	(void)userdata;
	launch(queue, US, 0, NULL, NULL);
	CHECK(clFlush(queue));
	atomic_fetch_sub(&n_left, 1);
}

static void memdtor(void)
{
	begin();
	for (int i = 0; i < N_ROUNDS; i++) {
		cl_uint zero = 0;
		cl_int r;
		cl_mem memory =
			clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &r);

		CHECK(r);
		CHECK(clSetMemObjectDestructorCallback(memory, submit, NULL));
		launch(queue, US, 0, NULL, NULL);
		CHECK(clEnqueueFillBuffer(
			queue, memory, &zero, sizeof(zero), 0, 4096, 0, NULL, NULL));
		CHECK(clReleaseMemObject(memory));
	}
	CHECK(clFinish(queue));
	while (atomic_load(&n_left) > 0)
		usleep(500);
	CHECK(clFinish(queue));
}

static void compute(void)
{
	for (int i = 0; i < N_ROUNDS; i++) {
		for (int k = 0; k < 4; k++)
			launch(queue, US, 0, NULL, NULL);
		CHECK(clFinish(queue));
	}
}

static void forkfirst(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		begin();
		compute();
		_exit(0);
	}
	EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static _Atomic int is_over;

static void *compute_in_the_background(void *userdata)
{
	const struct sched_param none = {0};
	cl_command_queue own = open_queue(0);

	(void)userdata;
	EXPECT(sched_setscheduler(0, SCHED_IDLE, &none) == 0);
	while (!atomic_load(&is_over)) {
		for (int k = 0; k < 8; k++)
			launch(own, US / 2, 0, NULL, NULL);
		CHECK(clFinish(own));
	}
	return NULL;
}

static void prioinv(void)
{
	pthread_t thread;

	begin();
	EXPECT(pthread_create(&thread, NULL, compute_in_the_background, NULL) == 0);
	compute();
	atomic_store(&is_over, 1);
	EXPECT(pthread_join(thread, NULL) == 0);
}

static void CL_CALLBACK linger(cl_event event, cl_int status, void *userdata)
{
	EXPECT(sem_post(&is_done) == 0);
	usleep(20000);
}

/* A driver's thread may tell of a command's end before it lets go of the command's
 * memory. The program then allocates in the place of what it has released. */
static void replaced(void)
{
	cl_ulong quota;
	cl_event event;
	cl_mem buffer;
	char zero = 0;
	cl_int r;

	begin();
	EXPECT(sem_init(&is_done, 0, 0) == 0);
	CHECK(clGetDeviceInfo(
		device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(quota), &quota, NULL));
	for (int i = 0; i < 3; i++) {
		buffer = clCreateBuffer(
			context, CL_MEM_READ_WRITE, quota / 10 * 6, NULL, &r);
		CHECK(r);
		CHECK(clEnqueueFillBuffer(
			queue, buffer, &zero, 1, 0, 4096, 0, NULL, &event));
		CHECK(clSetEventCallback(event, CL_COMPLETE, linger, NULL));
		CHECK(clFlush(queue));
		EXPECT(sem_wait(&is_done) == 0);
		CHECK(clReleaseEvent(event));
		CHECK(clReleaseMemObject(buffer));
	}
}

static void compete(void)
{
	open_device();
	keep_busy();
}

static const struct named_case cases[] = {
	{"cbcontext", cbcontext},
	{"memdtor", memdtor},
	{"forkfirst", forkfirst},
	{"prioinv", prioinv},
	{"replaced", replaced},
	{"competitor", compete},
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
