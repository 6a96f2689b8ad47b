/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Keeps a GPU busy in one of several styles, for programs of CUDA and of HIP: the loop
 * and the table of styles. The program includes its API's tenant.h before this file, and
 * has a table of styles. */

#include <string.h>
#include <time.h>

#define AHEAD 100
#define N_STREAMS 4
#define NODES 10 /* of a graph */

struct program {
	handle function, streams[N_STREAMS], graph;
	uint64_t kernel_ns, n;
	uint64_t begin_ns, end_ns; /* bounds of the counted time */
};

struct style {
	const char *name;
	void (*submit)(struct program *program, handle stream);
	int (*synchronize)(handle stream);
	unsigned n_streams; /* 0: the default one */
	unsigned ahead;     /* submissions before it waits */
	int computes;       /* computes on the host for as long again */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void compute_for(uint64_t ns)
{
	uint64_t until = now_ns() + ns;

	while (now_ns() < until)
		;
}

static const struct style *find_style(
	const struct style *styles, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(styles[i].name, name) == 0)
			return &styles[i];
	}
	fprintf(stderr, "there is no style %s\n", name);
	exit(64);
}

static void run(struct program *program, const struct style *style, uint64_t until_ns)
{
	unsigned n_streams = style->n_streams ? style->n_streams : 1;

	while (now_ns() < until_ns) {
		for (unsigned i = 0; i < style->ahead; i++) {
			style->submit(program, program->streams[i % n_streams]);
		}
		for (unsigned i = 0; i < n_streams; i++)
			OK(style->synchronize(program->streams[i]));
		if (now_ns() >= program->begin_ns && now_ns() < program->end_ns)
			program->n += style->ahead;
		if (style->computes)
			compute_for(program->kernel_ns);
	}
}

/* argv: STYLE KERNEL_NS SECONDS [BEGIN_NS END_NS]. Prints "ready" when it begins, and at
 * its end the number of submissions, between the two times of CLOCK_MONOTONIC where they
 * are given. begin prepares the device and loads the kernel. */
static int tenant_main(int argc, char **argv, const struct style *styles, size_t n,
	void (*begin)(struct program *program),
	int (*create_stream)(handle *stream, unsigned flags))
{
	struct program program = {0};
	const struct style *style;

	if (argc != 4 && argc != 6)
		return 64;
	style = find_style(styles, n, argv[1]);
	begin(&program);
	for (unsigned i = 0; i < style->n_streams; i++)
		OK(create_stream(&program.streams[i], 1));
	program.kernel_ns = strtoull(argv[2], NULL, 10);
	program.begin_ns = argc == 6 ? strtoull(argv[4], NULL, 10) : 0;
	program.end_ns = argc == 6 ? strtoull(argv[5], NULL, 10) : UINT64_MAX;
	printf("ready\n");
	fflush(stdout);
	run(&program, style, now_ns() + strtoull(argv[3], NULL, 10) * 1000000000u);
	printf("%llu\n", (unsigned long long)program.n);
	return 0;
}
