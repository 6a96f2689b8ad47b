/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#ifdef ROCM
#include "../hip/patterns.h"
#else
#include "../doubles/cuda/selftest/cuda.h"
#define HAS_SEMAPHORES_IN_GRAPHS
#endif

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What the programs of patterns.c share. */

#define NON_BLOCKING 1u
#define LEGACY NULL
#define PER_THREAD ((handle)2)
#define N_ROUNDS 12
#define MIB ((size_t)1 << 20)
#define N_WORDS 128
#define STANDS_MS 1500 /* longer than any wait for the end of a turn */

#define OK(call)                                                                        \
	do {                                                                            \
		int result_ = (call);                                                   \
		if (result_ != 0) {                                                     \
			printf("failed %s at line %d: %d\n", #call, __LINE__, result_); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

extern volatile uint32_t *words; /* in host memory that the device sees */
extern handle context;

static inline void sleep_ms(long ms)
{
	struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

static inline handle new_stream(unsigned flags)
{
	handle stream;

	OK(cuStreamCreate(&stream, flags));
	return stream;
}

static inline dptr word(uint32_t i)
{
	return (dptr)(uintptr_t)(words + i);
}

void begin(void);

/* Kernels: one that takes this long, one that writes a word, one that runs until a word
 * has this value, and one that then writes another. */
void run(handle stream, uint64_t ns);
void store(handle stream, dptr at, uint32_t value);
void await_word(handle stream, dptr at, uint32_t value);
void again(handle stream); /* launches its graph again, three times */
void relay(handle stream, dptr at, uint32_t value, dptr out, uint32_t out_value);

/* A stream waits for word 2 to be n, stores n in word 1, and is waited for; the other
 * writes word 2 after 30 ms. */
void store_behind_wait(handle waiting, handle other, uint32_t n);

/* The patterns that fill a stream (full.c), and the kernel of run(). */
extern handle run_kernel;
uint32_t full_of_events(void);
uint32_t full_of_launches(void);
uint32_t full_of_copies(void);
uint32_t full_of_waits(void);

/* The patterns whose graphs change or decide (graph-patterns.c). */
uint32_t updated_graphs(void);
uint32_t conditional_graphs(void);
uint32_t relaunched_graphs(void);

/* The patterns of two processes (siblings.c). */
uint32_t processes(void);
uint32_t late_process(void);

/* The patterns with signals from outside (outside.c). */
uint32_t external_semaphore(void);
uint32_t event_of_another(void);
uint32_t graph_of_semaphore(void);
uint32_t graph_beside_wait(void);

/* The patterns with frees (frees.c). */
uint32_t late_free(void);
uint32_t full_of_frees(void);
uint32_t allocates_beside(void);

/* The patterns with destructors of threads, and with contexts that end (ends.c). */
uint32_t thread_ends(void);
uint32_t green_ends(void);
