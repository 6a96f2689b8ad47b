/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "wire.h"
#include <stdbool.h>
#include <stdio.h>

/* The GPUs of the node, and the processes that use them. One thread; all times are
 * CLOCK_MONOTONIC. */

#define DGP_NEVER UINT64_MAX
#define DGP_GROUPS_MAX 4

struct group;
struct process;

/* A process's slot as the machine sees it: the state of its first command. */
struct stream {
	struct process *process;
	struct dgp_slot *slot;
	struct context *context;
	struct group *group;
	uint32_t number;
	bool ready;   /* it lacks only an engine */
	bool started; /* an engine has run it */
	bool handed;  /* the process was asked to carry it out */
	uint64_t ready_ns, start_ns;
	uint64_t left_ns; /* of a copy */
	/* For a kernel: the units that it wants and has, and keeps when its group is
	 * preempted; the rest is in units times ns. */
	uint32_t demand, granted;
	uint64_t left_work;
	/* A kernel that waits for words of the process's memory. */
	bool spins;
	uint32_t turns_left;
	uint64_t turns_wanted;
};

/* The unit of the hardware's scheduling: one runs at a time, each for its slice. */
struct group {
	uint32_t number;
	struct context *context;
	uint64_t slice_us, slice_ns, run_ns; /* slice_us: as requested */
	bool enabled;
	uint32_t n_ready, used_units;
	struct group *next; /* of the same GPU, by age */
	uint32_t interleave;
};

struct context {
	uint32_t number, permille, units; /* of the GPU's multiprocessors */
	struct process *process;
	struct gpu *gpu;
	struct group groups[DGP_GROUPS_MAX]; /* its streams are distributed over them */
	uint32_t n_groups;
	uint64_t legacy_done; /* the order of the last command of its legacy stream */
	struct context *next;
};

struct gpu {
	uint32_t index;
	struct dgp_gpu_info info;
	uint64_t total_bytes, used_bytes, busy_ns, switches;
	struct group *groups, *running, *last;
	uint64_t slice_end, switched_at; /* a switch may take time */
	struct stream *copying[DGP_COPY_ENGINES];
};

/* What a process has used; it outlives the process. */
struct usage {
	uint64_t bytes, peak_bytes, run_ns, copy_ns, launches, records, allocations;
};

struct process {
	uint32_t number;
	int pid, fd, pidfd, arena;
	bool gone;
	bool is_file; /* an open device file: it ends with its socket only */
	uint32_t host_word_seen;
	struct dgp_area *area;
	struct context *contexts;
	struct usage usage[DGP_GPUS_MAX];
	bool is_held;    /* its memory is kept by a file of another process */
	bool has_shared; /* its arena stays for other processes */
	struct stream streams[DGP_SLOTS];
	struct process *next;
};

struct options {
	uint64_t version, context_mib, switch_ns, slice_us, host_mb_s, device_mb_s;
	uint64_t concurrent_managed, lazy_sync, driver, compute_groups, copy_groups;
	uint64_t one_inode, inner_addresses, record_us, ring_us, tell, trace;
};

struct machine {
	struct options options;
	struct gpu gpus[DGP_GPUS_MAX];
	uint32_t n_gpus;
	struct process *processes;
	struct stream **active;
	uint32_t n_active, active_room;
	uint32_t last_number, last_context;
	uint64_t now_ns;   /* the state is computed up to here */
	uint64_t asked_ns; /* when the ioctl in progress began */
	int epoll, bell, timer, listener;
	bool memory_changed;
};

/* machine.c: false if the current folder has no node. */
bool dgp_machine_init(struct machine *m);
uint64_t dgp_now(void);

/* time.c, with step.c and units.c: advances the machine's time. */
void dgp_advance(struct machine *m, uint64_t until_ns);
/* The time of the next event if nothing is submitted. */
uint64_t dgp_next_event(const struct machine *m);

/* signal.c */
bool dgp_barrier_is_open(struct dgp_area *area, const struct dgp_cmd *cmd);
void dgp_signal_complete(
	struct dgp_area *area, uint32_t signal, uint64_t start_ns, uint64_t end_ns);
void dgp_wake_word(_Atomic uint32_t *word);

/* wake.c: wakes the threads whose commands are complete; returns when to check again. */
uint64_t dgp_wake(struct machine *m);

/* context.c */
struct context *dgp_context_new(
	struct machine *m, struct process *process, uint32_t gpu, uint32_t permille);
void dgp_context_free(struct machine *m, struct context *context);
struct context *dgp_context_find(struct process *process, uint32_t number);
/* Returns a CUresult. */
int dgp_memory_take(
	struct machine *m, struct process *process, uint32_t gpu, uint64_t bytes);
void dgp_memory_give(
	struct machine *m, struct process *process, uint32_t gpu, uint64_t bytes);

/* process.c */
struct process *dgp_process_new(struct machine *m, int fd, int pid);
void dgp_process_end(struct machine *m, struct process *process);
void dgp_process_answer(struct machine *m, struct process *process);

/* A device file of its contexts is still open, so its memory is not freed yet. */
void dgp_process_release(struct machine *m, struct process *process);

/* The files of a vendor's kernel driver. */
struct dgp_kernel_driver {
	void (*call)(struct machine *m, struct process *file, struct dgp_rm_call *call);
	void (*file_end)(struct machine *m, struct process *file);
	/* The context is destroyed; its objects stay without a group. */
	void (*forget)(const struct context *context);
	/* Whether an open file still has objects of the process's contexts. */
	bool (*holds)(const struct process *process);
};

/* The differences between the vendors' machines. */
struct dgp_vendor {
	uint64_t version, context_mib; /* the options without a file */
	/* Fills in the GPUs. False if the folder has no node. */
	bool (*read_node)(int dirfd, struct machine *m);
	const char *node_file;
	/* Reports the processes with memory to another double: the option, its file, and
	 * the line of a process. */
	const char *tell_option, *tell_file;
	void (*tell)(const struct process *process, const struct gpu *gpu, FILE *to);
	const struct dgp_kernel_driver *driver; /* NULL: the vendor has no such files */
};

extern const struct dgp_vendor dgp_vendor;

/* share.c: memory that processes share, by a number */
uint64_t dgp_share_new(
	struct process *owner, uint32_t gpu, uint64_t bytes, const char *text);
const char *dgp_share_text(uint64_t number);
/* One more file of the memory. */
bool dgp_share_watch(uint64_t number, int fd);
bool dgp_share_import(struct process *p, uint64_t number);
/* The owner frees it, or another process an import. */
bool dgp_share_drop(struct machine *m, struct process *p, uint64_t number);
void dgp_shares_leave(struct machine *m, struct process *p);
/* What is counted in the GPU and in no process, because its owner is gone. */
uint64_t dgp_shares_kept(uint32_t gpu);
/* Frees what nothing has any more. */
void dgp_shares_settle(struct machine *m);

/* trace.c */
void dgp_trace_add(struct machine *m, const struct stream *stream,
	const struct dgp_cmd *cmd, uint64_t end_ns);
/* Records a switch of the group, from the request until now. */
void dgp_trace_switch(struct machine *m, const struct group *group);
void dgp_trace_print(FILE *to);

/* stats.c */
void dgp_stats_print(struct machine *m, FILE *to);
void dgp_tell(struct machine *m);
