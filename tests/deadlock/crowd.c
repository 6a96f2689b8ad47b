/* SPDX-License-Identifier: Apache-2.0 */
/* Submits kernels one by one, waits for each, and prints the longest wait: in seconds,
 * and in kernels that other processes completed meanwhile.  FILE has the count of all.
 *
 * usage: crowd MICROSECONDS SECONDS FILE */
#include "program.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static _Atomic unsigned long *open_count(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *count;

	EXPECT(fd >= 0 && ftruncate(fd, sizeof(unsigned long)) == 0);
	count = mmap(
		NULL, sizeof(unsigned long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	EXPECT(count != MAP_FAILED);
	close(fd);
	return count;
}

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
	_Atomic unsigned long *count;
	unsigned long most = 0;
	cl_command_queue queue;

	EXPECT(argc > 3);
	count = open_count(argv[3]);
	open_device();
	queue = open_queue(0);
	launch(queue, us, 0, NULL, NULL);
	CHECK(clFinish(queue));
	printf("go\n");
	fflush(stdout);
	last = now();
	until = last + seconds;
	while (last < until) {
		unsigned long before = atomic_load(count), n;
		double t;

		launch(queue, us, 0, NULL, NULL);
		CHECK(clFinish(queue));
		t = now();
		n = atomic_fetch_add(count, 1) - before;
		most = n > most ? n : most;
		worst = t - last > worst ? t - last : worst;
		last = t;
	}
	printf("%.3f %lu\n", worst, most);
	return 0;
}
