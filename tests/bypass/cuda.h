/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "../doubles/cuda/selftest/cuda.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* What the bypass attempts through CUDA share. An attempt prints its results to standard
 * output, one fact a line; cuda.py judges, mostly by what the GPU itself has seen:
 *
 *   go                  it computes from here on, until it is ended
 *   got BYTES code N    of memory, and the error that ended it; it keeps it until its
 *                       input ends
 *   yes TEXT, no TEXT   whether the attempt was possible
 *   no-device N         no device, and the error that said so
 *
 * An attempt uses CUDA as any program would and shares no code with cleave. */

#define MIB ((size_t)1 << 20)
#define PIECE_BYTES (64 * MIB)
#define PIECES_MAX 40
#define KERNEL_NS 500000u
#define OUT_OF_MEMORY 2
#define NOT_PERMITTED 800
#define EXIT_NO_DEVICE 3

struct way {
	const char *name;
	int (*run)(char **arguments);
};

extern const struct way way_memory[], way_streams[], way_counts[], way_waits[],
	way_processes[], way_pages[], way_users[], way_driver[], way_forged[];

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

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void die(const char *what, int code);

#define OK(call)                             \
	do {                                 \
		int result_ = (call);        \
		if (result_ != 0)            \
			die(#call, result_); \
	} while (0)

uint64_t now_ns(void);

/* A number from the environment. */
uint64_t number(const char *name, uint64_t otherwise);

/* Makes the first device's primary context current; where there is none, says so and
 * exits. */
void open_device(void);

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
/* Waits until the input ends. */
void stay(void);

/* Allocates pieces until refused and prints the total. */
void take(int (*piece)(void));
int take_plain(void);
