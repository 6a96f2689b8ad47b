/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* The interface between the library and the simulated machine: commands through shared
 * memory, everything else by messages on the socket. A process has one area; its streams
 * are slots in it. A slot is a ring with one writer (the process, under a lock of its
 * own) and one reader (the machine). Commands are numbered from 1 on, and the numbers
 * continue when a slot is reused. */

#define DGP_SLOTS 192
#define DGP_RING 1024 /* commands in a stream before a launch blocks */
#define DGP_NAMES 1024
#define DGP_NAME_BYTES 48
#define DGP_WAITERS 1024
#define DGP_EVENTS 32768
#define DGP_EFFECTS 262144
#define DGP_GPUS_MAX 16
#define DGP_SIGNALS 65536
#define DGP_DEPS 5

enum dgp_kind {
	DGP_KERNEL,      /* time of the channel group */
	DGP_COPY,        /* time of a copy engine */
	DGP_RECORD,      /* takes the time of an event; target: its number */
	DGP_WAIT_STREAM, /* until slot `target` has done command `value` */
	DGP_HOST,        /* the process carries it out and reports its end */
	DGP_BARRIER,     /* until signals have values */
	DGP_WRITE,       /* its effect, for which no engine is needed */
};

enum dgp_engine { DGP_TO_DEVICE, DGP_TO_HOST, DGP_COPY_ENGINES };

/* How a barrier compares a signal's value with its own. */
enum dgp_condition { DGP_EQUAL, DGP_NOT_EQUAL, DGP_LESS, DGP_NOT_LESS };

/* A word that the machine decrements when a command is complete, with that command's
 * times. It has the layout of ROCr's amd_signal_t, which programs use. */
struct dgp_signal {
	int64_t kind;
	_Atomic int64_t value;
	uint64_t mailbox;
	uint32_t event, reserved;
	uint64_t start_ns, end_ns;
	uint64_t queue;
	uint64_t reserved2;
};
static_assert(sizeof(struct dgp_signal) == 64, "programs know it");

/* Private data of a signal. */
struct dgp_signal_note {
	_Atomic uint32_t word;      /* changes with the value; threads sleep on it */
	_Atomic uint32_t sleepers;  /* how many */
	_Atomic uint32_t listeners; /* sleepers on the area's host_word */
	_Atomic uint32_t awaited;   /* a command waits for it: ring */
	_Atomic uint32_t slot;      /* of the last command that changes it */
	_Atomic uint64_t seq;       /* of that command; 0: unknown */
};

struct dgp_cmd {
	uint64_t submit_ns; /* CLOCK_MONOTONIC */
	uint64_t order;     /* order among commands that the legacy stream concerns */
	uint64_t after;     /* the legacy stream's command that must be done; 0: none */
	uint64_t ns;
	uint64_t sum_ns; /* of this slot's commands until here */
	uint64_t effect; /* what the process does to its memory at the end; 0: none */
	uint64_t value;
	uint16_t kind, engine, target, name;
	uint32_t waits_for_host; /* whether the process must be woken for the effect */
	uint32_t units;          /* units of a kernel; 0: all of its context's */
	/* How often a kernel waits, takes its time and has its effect; 0: it takes its
	 * time once. `value` is passed to the process, which reports the end of the
	 * wait. */
	uint32_t turns;
	uint32_t launches;   /* counts as this many; 0: one */
	uint32_t completion; /* the signal to decrement, from 1 on; 0: none */
	/* For a barrier: the value with which each signal's masked value is compared, and
	 * whether one signal is enough. */
	uint32_t signals[DGP_DEPS]; /* from 1 on */
	uint16_t condition, any;
	uint64_t mask;
};

enum dgp_slot_flag {
	DGP_SLOT_LEGACY = 1,   /* the context's default stream */
	DGP_SLOT_BLOCKING = 2, /* a stream that the default stream waits for */
};

struct dgp_slot {
	_Atomic uint32_t context; /* its number in the machine; 0: the slot is free */
	_Atomic uint32_t flags;
	_Atomic int32_t priority;   /* lower goes first */
	_Atomic uint32_t permille;  /* of the context's units; 0: all */
	_Atomic uint64_t tail;      /* of the last command */
	_Atomic uint64_t done;      /* of the last complete command */
	_Atomic uint64_t host_done; /* of the last DGP_HOST that the process completed */
	_Atomic uint64_t turns;     /* of the last completed wait of a kernel */
	_Atomic uint64_t told_ns;   /* when the process last set one of these two */
	_Atomic uint32_t dead;      /* context is gone: its commands are not run */
	struct dgp_cmd ring[DGP_RING];
};

/* A thread that sleeps until the slot has completed seq. */
struct dgp_waiter {
	_Atomic uint32_t taken, asleep; /* `asleep` is the word it sleeps on */
	_Atomic uint32_t slot;
	_Atomic uint64_t seq;
};

struct dgp_area {
	_Atomic uint32_t n_slots, n_waiters; /* how many were ever used */
	_Atomic uint32_t host_word;          /* the helper sleeps on it */
	_Atomic int32_t exact;        /* commands at whose end the process must act */
	_Atomic uint64_t quiet_until; /* no command ends before, as far as known */
	_Atomic uint64_t effects_tail, hosts_tail;
	uint64_t effects[DGP_EFFECTS];
	struct {
		uint64_t what;
		uint32_t slot;
		uint32_t is_turn; /* seq counts the slot's `turns` */
		uint64_t seq;
	} hosts[DGP_EFFECTS];
	struct dgp_waiter waiters[DGP_WAITERS];
	char names[DGP_NAMES][DGP_NAME_BYTES];
	_Atomic uint64_t event_ns[DGP_EVENTS];
	_Alignas(64) struct dgp_signal signals[DGP_SIGNALS];
	struct dgp_signal_note notes[DGP_SIGNALS];
	struct dgp_slot slots[DGP_SLOTS];
};

/* --- Messages --- */

enum dgp_request {
	DGP_HELLO,       /* with the arena; the answer has the area and the bell */
	DGP_GPU,         /* a: index; fills `gpu`; result 101 without such a GPU */
	DGP_CONTEXT_NEW, /* a: GPU; b: permille of its multiprocessors; gives a: number */
	DGP_CONTEXT_FREE, /* a: number */
	DGP_TAKE,         /* a: GPU, b: bytes */
	DGP_GIVE,         /* a: GPU, b: bytes */
	DGP_MEMORY,       /* a: GPU; answers a: free, b: total */
	DGP_ASK,          /* text: what; the answer has a file */
	DGP_ARENA,        /* a: the process's number; the answer has its arena */
	/* a: GPU, b: bytes, text: description of exported memory; answers a: its number
	 */
	DGP_SHARE,
	DGP_SHARE_FILE,   /* a: the number; with one more of its files */
	DGP_SHARE_IMPORT, /* a: the number */
	DGP_SHARE_DROP,   /* a: the number; freed by its owner, or an import */
	DGP_SHARED,       /* a: the number; fills text */
	DGP_RM_OPEN,      /* this socket is a device file now; a: its minor, or 255 */
	DGP_RM, /* an ioctl on it; a: when it began; answered to the socket sent along */
	_DGP_REQUEST_MAX
};

struct dgp_gpu_info {
	char name[96], uuid[48], arch[48];
	uint32_t domain, bus, device, chip, node;
	uint32_t units; /* multiprocessors, compute units */
	uint32_t capability[2];
	uint64_t memory_bytes;
};

struct dgp_hello {
	uint32_t n_gpus, driver_version;
	uint32_t number; /* of this process, for other processes */
	uint32_t host_mb_s, device_mb_s, concurrent_managed;
	uint32_t lazy_sync, compute_groups, copy_groups, one_inode, record_us, ring_us,
		inner_addresses;
};

#define DGP_SHARE_BYTES 64
#define DGP_RM_BYTES 560 /* of an ioctl's parameters */

/* Fields that the ioctls of the kernel driver's resource manager share. */
struct dgp_rm_call {
	uint32_t number; /* of the ioctl */
	uint32_t client, parent, object, what, bytes, status;
	unsigned char params[DGP_RM_BYTES];
};

struct dgp_message {
	uint32_t request;
	int32_t result; /* 0, or an error of the vendor's API: 2 is out of memory */
	uint64_t a, b, c;
	union {
		struct dgp_gpu_info gpu;
		struct dgp_hello hello;
		char text[DGP_SHARE_BYTES];
		struct dgp_rm_call rm;
	};
};
