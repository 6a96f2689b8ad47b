/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* What a tenant of the crash suite says about itself: a file that it maps, so that the
 * account outlives it whatever kills it.  Words of 64 bits; run.py knows their order. */
enum stage {
	STAGE_NONE,
	STAGE_ALLOCATING, /* inside clCreateBuffer */
	STAGE_FREEING,    /* inside clReleaseMemObject */
};

enum state {
	STATE_STARTING,
	STATE_RUNNING,
	STATE_FAILED, /* error and wrong tell how */
};

enum act {
	ACT_NONE,
	ACT_CLOSE_FROM, /* closes every descriptor above stderr */
	ACT_RAW_CLONE,  /* a child by the bare system call, which calls OpenCL */
	ACT_VFORK_EXEC, /* a child by vfork that becomes another program */
	ACT_FORK_EXEC,  /* a child by fork that becomes a second tenant */
	ACT_EXEC_SELF,  /* this process becomes a new tenant */
	ACT_EXEC_OTHER, /* this process becomes a program that uses no device */
};

struct account {
	_Atomic uint64_t state;
	_Atomic uint64_t pid;
	_Atomic uint64_t held_bytes; /* of allocations that succeeded and still are */
	_Atomic uint64_t stage;
	_Atomic uint64_t pending_bytes; /* of the allocation under way */
	_Atomic uint64_t submitted;
	_Atomic uint64_t completed;
	_Atomic uint64_t last_completion_ns; /* CLOCK_MONOTONIC */
	_Atomic uint64_t max_stall_ns; /* between two completions; the runner resets it */
	_Atomic uint64_t error;        /* an OpenCL code that should not have come */
	_Atomic uint64_t wrong;        /* results that were not right */
	_Atomic uint64_t verified;     /* results that were */
	_Atomic uint64_t freeze;       /* the runner: allocate and free nothing */
	_Atomic uint64_t frozen;       /* the tenant: I do not */
	_Atomic uint64_t n_allocations;
	_Atomic uint64_t n_refused; /* beyond the quota, as it should be */
	_Atomic uint64_t act;       /* the runner: do this now (enum act) */
	_Atomic uint64_t acted;     /* the tenant: how many are done */
	_Atomic uint64_t child;     /* its last child */
	_Atomic uint64_t child_code;
	_Atomic uint64_t hold;        /* the runner: submit nothing */
	_Atomic uint64_t held;        /* the tenant: I do not, and nothing is in flight */
	_Atomic uint64_t max_late_ns; /* of a thread that only sleeps */
};

struct options {
	const char *account_path;
	const char *self;
	uint64_t kernel_us;
	uint64_t depth;
	uint64_t max_bytes;
	uint64_t quota_bytes;
	uint64_t seed;
	uint64_t n_children; /* that run beside it in the same lease */
	uint64_t submits;    /* 0: holds memory and never submits */
	uint64_t watches;    /* 1: how late the machine lets a thread run */
};

extern struct account *account;

/* Maps path as the account; a new one when it is not there. */
void account_open(const char *path);

/* Ends the process with the reason on stderr and in the account. */
void fail(const char *doing, int code);

uint64_t now_ns(void);

/* Carries out what the runner asks for. */
void acts_do(const struct options *options, enum act act);
