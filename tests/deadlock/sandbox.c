/* SPDX-License-Identifier: Apache-2.0 */
/* A program that gives up the right to create threads: once it has its device ("late"),
 * or before it has a context on it ("early"). Prints "done", or the error code of the
 * refused context. */
#include "../gate/forbid-threads.h"
#include "program.h"

#include <string.h>

#define N_ROUNDS 12

/* Gives up its rights once it has its device. */
static void sandboxed(void)
{
	cl_command_queue queue;

	open_device();
	queue = open_queue(0);
	forbid_threads();
	for (int i = 0; i < N_ROUNDS; i++) {
		cl_event gate = user_event();

		for (int k = 0; k < 50; k++)
			launch(queue, 200, 0, NULL, NULL);
		launch(queue, 100, 1, &gate, NULL);
		CHECK(clFlush(queue));
		CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
		CHECK(clFinish(queue));
		CHECK(clReleaseEvent(gate));
	}
}

/* The same too early: prints the error code of the refused context. */
static void sandbox_early(void)
{
	cl_int r;

	CHECK(clGetPlatformIDs(1, &platform, NULL));
	CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	forbid_threads();
	clCreateContext(NULL, 1, &device, NULL, NULL, &r);
	printf("code %d\n", r);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "early") == 0) {
		sandbox_early();
		return 0;
	}
	sandboxed();
	puts("done");
	return 0;
}
