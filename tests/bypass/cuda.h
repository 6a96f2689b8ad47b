/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "../doubles/cuda/selftest/cuda.h"

#include "ways.h"

#include <stdio.h>
#include <stdlib.h>

/* What the ways through CUDA have in common; cuda.py judges, mostly by what the GPU
 * itself has seen.  A way of work goes on until it is ended, and one of memory keeps it
 * until its input ends.  What is after "no-device" is the error that said so. */

#define MIB ((size_t)1 << 20)
#define PIECE_BYTES (64 * MIB)
#define PIECES_MAX 40
#define KERNEL_NS 500000u
#define OUT_OF_MEMORY 2
#define NOT_PERMITTED 800

extern const struct way way_memory[], way_streams[], way_counts[], way_waits[],
	way_more_processes[], way_more_pages[], way_outlived[], way_users[], way_driver[],
	way_forged[];

/* A row of such a table is an attempt that allocates piece after piece until it is
 * refused. */
struct taking {
	const char *name;
	int (*piece)(void); /* allocates one more; 0 or the error */
};

extern const struct taking way_pieces[], way_kept_pieces[];

/* A row of such a table is an attempt that keeps the GPU busy by calling submit without
 * an end, and waits for its stream after this many. */
struct flood {
	const char *name;
	void (*submit)(handle stream);
	unsigned ahead;
	void (*prepare)(void);
};

extern const struct flood way_floods[], way_graph_floods[];

#define OK(call)                                 \
	do {                                     \
		int result_ = (call);            \
		if (result_ != 0)                \
			way_die(#call, result_); \
	} while (0)

/* A kernel that runs as many nanoseconds as its parameter says. */
extern handle spin;
handle load_kernel(const char *line);
handle new_stream(void);
int try_launch(handle stream, uint64_t ns);
void launch(handle stream, uint64_t ns);
/* Teaches the gate's estimate a length of the kernel that may be false later. */
void train(handle kernel, uint64_t ns);

_Noreturn void flood(void (*submit)(handle stream), unsigned ahead);
void flood_with_kernels(handle stream, uint64_t ns, unsigned ahead);

/* Allocates pieces until refused and prints the total. */
void take(int (*piece)(void));
int take_plain(void);
