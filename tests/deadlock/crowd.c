/* SPDX-License-Identifier: Apache-2.0 */
/* Submits kernels one by one, waits for each, and prints the longest wait.
 *
 * usage: crowd MICROSECONDS SECONDS */
#include "program.h"

#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	cl_uint us = argc > 1 ? (cl_uint)atoi(argv[1]) : 1000;
	double seconds = argc > 2 ? atof(argv[2]) : 1, worst = 0, until, last;
	cl_command_queue queue;

	open_device();
	queue = open_queue(0);
	launch(queue, us, 0, NULL, NULL);
	CHECK(clFinish(queue));
	printf("go\n");
	fflush(stdout);
	last = now();
	until = last + seconds;
	while (last < until) {
		double t;

		launch(queue, us, 0, NULL, NULL);
		CHECK(clFinish(queue));
		t = now();
		worst = t - last > worst ? t - last : worst;
		last = t;
	}
	printf("%.3f\n", worst);
	return 0;
}
