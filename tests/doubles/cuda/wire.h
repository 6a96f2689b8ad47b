/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* What the library and the simulated machine say to each other: work through memory that
 * both have mapped, everything else by messages on the socket.  A process has one area;
 * its streams are slots in it.
 *
 * A slot is a ring with one writer (the process, under a lock of its own) and one reader
 * (the machine).  Commands are numbered from 1 on and never again, whoever uses the slot.
 */

#define DCU_SOCKET "cuda-double"
#define DCU_SLOTS 192
#define DCU_RING 1024 /* commands in a stream before a launch has to wait */
#define DCU_NAMES 1024
#define DCU_NAME_BYTES 48
#define DCU_WAITERS 128
#define DCU_EVENTS 32768
#define DCU_EFFECTS 262144
#define DCU_GPUS_MAX 16

enum dcu_kind {
	DCU_KERNEL,      /* time of the channel group */
	DCU_COPY,        /* time of a copy engine */
	DCU_RECORD,      /* an event's time is now; target: its number */
	DCU_WAIT_STREAM, /* until slot `target` has done command `value` */
	DCU_HOST,        /* the process does something and says when it is done */
};

enum dcu_engine { DCU_TO_DEVICE, DCU_TO_HOST, DCU_COPY_ENGINES };

struct dcu_cmd {
	uint64_t submit_ns; /* CLOCK_MONOTONIC */
	uint64_t order;     /* among those of its context that know the legacy stream */
	uint64_t after;     /* the legacy stream's command that must be done; 0: none */
	uint64_t ns;
	uint64_t sum_ns; /* of this slot's commands until here */
	uint64_t
		effect; /* what the process does to its memory when it is done; 0: none */
	uint64_t value;
	uint16_t kind, engine, target, name;
	uint32_t waits_for_host; /* whether the process must be woken for the effect */
	uint32_t launches;       /* as many does it count for; 0: one */
};

enum dcu_slot_flag {
	DCU_SLOT_LEGACY = 1,   /* the context's default stream */
	DCU_SLOT_BLOCKING = 2, /* a stream that the default stream waits for */
};

struct dcu_slot {
	_Atomic uint32_t context; /* the machine's number of it; 0: the slot is free */
	_Atomic uint32_t flags;
	_Atomic int32_t priority;   /* lower goes first */
	_Atomic uint32_t quiet;     /* the machine has seen it empty: ring */
	_Atomic uint64_t tail;      /* of the last command there is */
	_Atomic uint64_t done;      /* of the last that is done */
	_Atomic uint64_t host_done; /* of the last DCU_HOST that the process has done */
	_Atomic uint32_t dead;      /* the context went: commands end without being run */
	struct dcu_cmd ring[DCU_RING];
};

/* A thread that sleeps until slot has done seq. */
struct dcu_waiter {
	_Atomic uint32_t taken, asleep; /* `asleep` is the word it sleeps on */
	_Atomic uint32_t slot;
	_Atomic uint64_t seq;
};

struct dcu_area {
	_Atomic uint32_t n_slots, n_waiters; /* how many were ever used */
	_Atomic uint32_t host_word;          /* the helper sleeps on it */
	_Atomic int32_t exact;        /* commands at whose end the process must act */
	_Atomic uint64_t quiet_until; /* nothing ends before, as far as known */
	_Atomic uint64_t effects_tail, hosts_tail;
	uint64_t effects[DCU_EFFECTS];
	struct {
		uint64_t what;
		uint32_t slot;
		uint64_t seq;
	} hosts[DCU_EFFECTS];
	struct dcu_waiter waiters[DCU_WAITERS];
	char names[DCU_NAMES][DCU_NAME_BYTES];
	_Atomic uint64_t event_ns[DCU_EVENTS];
	struct dcu_slot slots[DCU_SLOTS];
};

/* --- Messages --- */

enum dcu_request {
	DCU_HELLO,       /* with the arena; comes back with the area and the bell */
	DCU_GPU,         /* a: which; fills `gpu`; result 101 where there is none */
	DCU_CONTEXT_NEW, /* a: GPU; b: permille of its multiprocessors; gives a: number */
	DCU_CONTEXT_FREE, /* a: number */
	DCU_TAKE,         /* a: GPU, b: bytes */
	DCU_GIVE,         /* a: GPU, b: bytes */
	DCU_MEMORY,       /* a: GPU; gives a: free, b: total */
	DCU_ASK,          /* text: what; comes back with a file */
	DCU_ARENA,        /* a: the process's number; comes back with its arena */
	DCU_RM_OPEN,      /* this socket is an open device file; a: its minor, or 255 */
	DCU_RM, /* an ioctl on it; the answer goes to the socket that comes with it */
	_DCU_REQUEST_MAX
};

struct dcu_gpu_info {
	char name[96], uuid[48];
	uint32_t domain, bus, device, sms, capability[2];
	uint64_t memory_bytes;
};

#define DCU_RM_BYTES 560 /* of an ioctl's parameters */

/* What the ioctls of the kernel driver's resource manager have in common. */
struct dcu_rm_call {
	uint32_t number; /* of the ioctl */
	uint32_t client, parent, object, what, bytes, status;
	unsigned char params[DCU_RM_BYTES];
};

struct dcu_message {
	uint32_t request;
	int32_t result; /* a CUresult */
	uint64_t a, b, c;
	union {
		struct dcu_gpu_info gpu;
		struct {
			uint32_t n_gpus, driver_version;
			uint32_t number; /* of this process, for other processes */
			uint32_t host_mb_s, device_mb_s;
		} hello;
		char text[64];
		struct dcu_rm_call rm;
	};
};
