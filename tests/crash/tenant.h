/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* The account of a tenant of the crash suite: a mapped file, so that it survives any
 * death of the process. Words of 64 bits; run.py knows their order. */
enum stage {
	STAGE_NONE,
	STAGE_ALLOCATING, /* inside clCreateBuffer */
	STAGE_FREEING,    /* inside clReleaseMemObject */
};

enum state {
	STATE_STARTING,
	STATE_RUNNING,
	STATE_FAILED, /* the fields error and wrong say how */
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
	_Atomic uint64_t held_bytes; /* of live allocations */
	_Atomic uint64_t stage;
	_Atomic uint64_t pending_bytes; /* of the allocation in progress */
	_Atomic uint64_t submitted;
	_Atomic uint64_t completed;
	_Atomic uint64_t last_completion_ns; /* CLOCK_MONOTONIC */
	_Atomic uint64_t max_stall_ns; /* between two completions; the runner resets it */
	_Atomic uint64_t error;        /* an unexpected OpenCL error code */
	_Atomic uint64_t wrong;        /* wrong results */
	_Atomic uint64_t verified;     /* correct results */
	_Atomic uint64_t freeze;       /* from the runner: do not allocate or free */
	_Atomic uint64_t frozen;       /* it neither allocates nor frees */
	_Atomic uint64_t n_allocations;
	_Atomic uint64_t n_refused; /* beyond the quota, as expected */
	_Atomic uint64_t act;       /* from the runner: carry this out (enum act) */
	_Atomic uint64_t acted;     /* from the tenant: number of acts carried out */
	_Atomic uint64_t child;     /* PID of its last child */
	_Atomic uint64_t child_code;
	_Atomic uint64_t hold; /* from the runner: submit nothing */
	_Atomic uint64_t held; /* it submits nothing, and nothing is in flight */
};

struct options {
	const char *account_path;
	const char *self;
	uint64_t kernel_us;
	uint64_t depth;
	uint64_t max_bytes;
	uint64_t quota_bytes;
	uint64_t seed;
	uint64_t n_children; /* of the same lease */
	uint64_t submits;    /* 0: holds memory and never submits */
};

extern struct account *account;

/* Maps the file path as the account; creates it if it does not exist. */
void account_open(const char *path);

/* Writes the reason to stderr and the account, and ends the process. */
void fail(const char *doing, int code);

uint64_t now_ns(void);

/* Carries out an act that the runner asks for. */
void acts_do(const struct options *options, enum act act);
