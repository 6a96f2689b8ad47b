/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../../nvml/node.h"
#include "../wire.h"
#include <stdbool.h>
#include <stdio.h>

/* The GPUs of the node, and who is on them.  One thread; all times are CLOCK_MONOTONIC.
 */

#define DCU_NEVER UINT64_MAX

struct group;
struct process;

/* A slot of a process as the machine sees it: what is known of its first command. */
struct stream {
	struct process *process;
	struct dcu_slot *slot;
	struct context *context;
	uint32_t number;
	bool ready;   /* nothing but an engine is missing */
	bool started; /* an engine has run it */
	bool handed;  /* the process has been told to do it */
	uint64_t ready_ns, start_ns, left_ns;
};

/* What the hardware schedules: one runs at a time, each for its slice. */
struct group {
	struct context *context;
	uint64_t slice_ns, run_ns;
	bool enabled;
	uint32_t n_ready;
	struct stream *current; /* keeps its place when the group is preempted */
	struct group *next;     /* of the same GPU, by age */
	uint32_t interleave;
};

struct context {
	uint32_t number, permille; /* of the GPU's multiprocessors */
	struct process *process;
	struct gpu *gpu;
	struct group group;
	uint64_t legacy_done; /* the order of the last command of its legacy stream */
	struct context *next;
};

struct gpu {
	uint32_t index;
	const struct dnv_gpu *node;
	uint64_t total_bytes, used_bytes, busy_ns, switches;
	struct group *groups, *running, *last;
	uint64_t slice_end, switched_at; /* a switch may take time */
	struct stream *copying[DCU_COPY_ENGINES];
};

/* What a process has used; outlives it. */
struct usage {
	uint64_t bytes, peak_bytes, run_ns, copy_ns, launches, allocations;
};

struct process {
	uint32_t number;
	int pid, fd, pidfd, arena;
	bool gone;
	bool is_file; /* an open device file: it ends with its socket alone */
	uint32_t host_word_seen;
	struct dcu_area *area;
	struct context *contexts;
	struct usage usage[DCU_GPUS_MAX];
	bool is_held; /* its memory, by a file that somebody else has, too */
	struct stream streams[DCU_SLOTS];
	struct process *next;
};

struct options {
	uint64_t version, context_mib, switch_ns, slice_us, host_mb_s, device_mb_s;
	uint64_t tell_nvml, trace;
};

struct machine {
	struct dnv_node node;
	struct options options;
	struct gpu gpus[DCU_GPUS_MAX];
	struct process *processes;
	struct stream **active;
	uint32_t n_active, active_room;
	uint32_t last_number, last_context;
	uint64_t now_ns; /* until when all is known */
	int epoll, bell, timer, listener;
	bool memory_changed;
};

/* machine.c: false where the folder, which is the current one, has no node. */
bool dcu_machine_init(struct machine *m);
uint64_t dcu_now(void);

/* time.c: lets the machine's time go on. */
void dcu_advance(struct machine *m, uint64_t until_ns);
/* When the next thing happens, if nobody submits anything. */
uint64_t dcu_next_event(const struct machine *m);

/* wake.c: lets the threads go on whose commands are done; returns when to look again. */
uint64_t dcu_wake(struct machine *m);

/* context.c */
struct context *dcu_context_new(
	struct machine *m, struct process *process, uint32_t gpu, uint32_t permille);
void dcu_context_free(struct machine *m, struct context *context);
struct context *dcu_context_find(struct process *process, uint32_t number);
/* A CUresult. */
int dcu_memory_take(
	struct machine *m, struct process *process, uint32_t gpu, uint64_t bytes);
void dcu_memory_give(
	struct machine *m, struct process *process, uint32_t gpu, uint64_t bytes);

/* process.c */
struct process *dcu_process_new(struct machine *m, int fd, int pid);
void dcu_process_end(struct machine *m, struct process *process);
void dcu_process_answer(struct machine *m, struct process *process);

/* Its contexts' device files are still open somewhere: its memory is not free yet. */
void dcu_process_release(struct machine *m, struct process *process);

/* rm.c */
struct dcu_rm_call;
void dcu_rm_call(struct machine *m, struct process *file, struct dcu_rm_call *call);
void dcu_rm_file_end(struct machine *m, struct process *file);
/* The context goes; its objects stay, and are no group's. */
void dcu_rm_forget(const struct context *context);
/* Whether a file that is open still has objects of the process's contexts. */
bool dcu_rm_holds(const struct process *process);

/* trace.c */
void dcu_trace_add(struct machine *m, const struct stream *stream,
	const struct dcu_cmd *cmd, uint64_t end_ns);
void dcu_trace_print(FILE *to);

/* stats.c */
void dcu_stats_print(struct machine *m, FILE *to);
void dcu_tell_nvml(struct machine *m);
