/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the ways past the limits have in common, whatever their API.  A way says on its
 *standard output what it got, one fact a line:
 *
 *	got BYTES code ERROR     of memory, and the error that ended it
 *	go, done                 the time between them is the one to measure
 *	yes TEXT, no TEXT        whether what it tried was possible
 *	no-device                nothing to work with: exit status 3
 *	failed WHAT: ERROR       the way itself did not work: exit status 1
 *
 * A way uses an API as any program would and shares no code with cleave. */

#define WAY_EXIT_NO_DEVICE 3

struct way {
	const char *name;
	int (*run)(char **arguments);
};

/* Of each API. */
extern const struct way way_processes[], way_pages[];

void way_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void way_die(const char *what, int code);
uint64_t way_now_ns(void);
/* A number from the environment. */
uint64_t way_number(const char *name, uint64_t otherwise);
/* Until the input ends. */
void way_stay(void);
/* The child's exit status; 1: a signal ended it. */
int way_wait_for(pid_t pid);
/* A connection to the lease's socket, with flags as SOCK_NONBLOCK; -1: none. */
int way_connect(int flags);

/* Says "go"; true until it is time to end; says "done" and waits to be let go. */
void way_begin(void);
bool way_goes_on(void);
void way_end(void);
/* From here on it always goes on. */
void way_never_end(void);

/* Runs the way of this name, and returns its exit status; -1: there is none. */
int way_run(const struct way *const *families, size_t n, char **arguments);

/* The shim: an API's part, in way.c for OpenCL and in cuda-way.c for CUDA. */

/* How long a way goes on, where the environment does not say. */
extern const uint64_t gpu_ms;
/* The most pieces that a way takes, and what each has. */
extern const size_t gpu_pieces_max, gpu_piece_bytes;
/* The name of the way that takes all memory that it gets. */
extern char gpu_way_of_memory[];

/* Says so, and exits, where there is no device. */
void gpu_open(void);
/* One more, on the open device; 0 or the error. */
int gpu_take_piece(void);
/* Opens the device, takes pieces until refused, and says what it got. */
void gpu_take_all(void);
/* Opens the device, and takes and keeps half of the quota that the referee sets. */
void gpu_take_half(void);
/* In a child: as much as it gets of what its parent opened. */
void gpu_take_inherited(void);
/* Keeps the memory until the referee has looked. */
void gpu_keep(void);
