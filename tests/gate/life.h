/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "checks.h"

/* What programs of CUDA and of HIP do beside computing (life.c), and what of their API
 * that needs. */

struct life_case {
	const char *name;
	int (*run)(void);
};

/* Those of one API alone; ends with a row without a name. */
extern const struct life_case life_cases[];

int life_forks(void);
int life_threads(void);
/* So many threads at once. */
void life_run_threads(void *(*run)(void *userdata));

/* Prepares the API for the calling thread. */
void life_begin(void);
/* Prepares it and loads the kernel. */
void life_load(void);
/* Launches kernels of 50 us on a stream (NULL: the default one), and waits for them. */
void life_launch(void *stream, int n);
void *life_make_stream(void);
void life_destroy_stream(void *stream);
/* An error of the API, or 0. */
int life_allocate(size_t bytes, uint64_t *ret_address);
void life_free(uint64_t address);
size_t life_free_bytes(void);
/* Whether the API is as it should be in a child that was forked after its first call. */
int life_is_right_in_child(void);
