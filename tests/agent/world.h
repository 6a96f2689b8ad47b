/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/auth/caller.h"
#include "agent/config/config.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/lease/lease.h"
#include "agent/record/agent.h"
#include "agent/record/lease-request.h"
#include "arbiter/arbiter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An agent in memory for unit tests.  The ledger and the rooms below it are the real
 * ones, with a state file in a folder of their own.  Sockets, processes, drivers, the
 * arbiter's thread, timers and clocks are doubles (doubles.c), which the linker's --wrap
 * puts in their place. */

/* uids that no process of a test has. */
#define ALICE 300000001u
#define BOB 300000002u
#define CAROL 300000003u

#define GIB (UINT64_C(1) << 30)
#define PERCENT 10000u /* in parts per million of a device */

/* pids beyond the kernel's largest, which no process of the machine has. */
#define PID(n) (10000000 + (n))

#define WORLD_PROCESSES 32
#define WORLD_TIMERS 64
#define WORLD_FDS 1024
#define WORLD_QUESTIONS 16

struct world_process {
	struct clv_process_id id;
	pid_t parent;
	const char *cgroup; /* NULL: the root */
	bool is_alive;
	int n_terms, n_kills;
};

/* What the double of clv_watch_new() makes. */
struct world_watch {
	TAILQ_ENTRY(world_watch) entry;
	int pidfd;
	void (*callback)(void *userdata);
	void *userdata;
	bool was_told;
};

struct world_timer {
	sd_event_source *source; /* NULL: it has fired, or was freed */
	sd_event_time_handler_t function;
	void *userdata;
	uint64_t due_ns;
};

/* A question to the drivers that the test answers. */
struct world_question {
	enum { WORLD_ASK, WORLD_STEP, WORLD_SAMPLE } kind;
	struct clv_step step;
	char uuid[96]; /* of the step's device */
	clv_hardware_fn done;
	void *userdata;
};

struct world {
	struct clv_agent agent;
	struct clv_config settings;
	char folder[40];
	uint64_t now_ns, real_ns;
	struct world_process processes[WORLD_PROCESSES];
	size_t n_processes;
	pid_t fds[WORLD_FDS]; /* the process whose pidfd the descriptor stands for; 0:
				 none */
	TAILQ_HEAD(, world_watch) watches;
	struct world_timer timers[WORLD_TIMERS];
	struct world_question questions[WORLD_QUESTIONS];
	size_t n_questions;
	uint64_t n_surveys;
	struct clv_readings readings;
	unsigned int n_notices[16]; /* by enum clv_notice_type */
	/* Current numbers: leases that are open to gates, and leases of arbiters. */
	int n_gates, n_arbiter_leases;
	unsigned int n_resumed;
	const char *passed_address; /* the function that VFIO's driver has; NULL: none */
	/* What the doubles refuse while this is set. */
	bool no_gate, no_commit, no_watch;
	const char *locked_uuid;       /* another agent has this device */
	unsigned int allocations_left; /* of arrays; 0: no bound; 1: the next one fails */
	enum { WORLD_SHARER_NO, WORLD_SHARER_UNKNOWN, WORLD_SHARER_YES } sharer;
	struct clv_process_id sharer_id;
};
extern struct world world;

/* For cmocka: set-up and tear-down of each test.  The state stays the test's row. */
int world_begin(void **state);
int world_end(void **state);

/* Subscribes to all notices: to notify the lifecycle as main does, and to count. */
void world_begin_lifecycle(void);
/* Records partitions that are made for one lease. */
void world_begin_ephemeral(void);
/* Frees these rooms and the ledger and creates them again, as a next agent would. */
void world_restart(void);

/* gpu0, gpu1, ...: with so much memory. */
struct clv_agent_device *world_device(uint64_t memory_bytes);
/* "gpu0/1g.10gb@4" of gpu0. */
struct clv_agent_device *world_part(struct clv_agent_device *whole, const char *profile,
	unsigned int start, uint64_t memory_bytes);

/* A process, and a descriptor that stands for its pidfd. */
struct clv_process_id world_process(pid_t pid, pid_t parent);
int world_pidfd(pid_t pid);
struct world_process *world_find_process(pid_t pid);
/* Ends a process and notifies its watches. */
void world_kill(pid_t pid);

/* For the doubles: takes the descriptor; closes it. */
struct world_watch *world_add_watch(int pidfd);
void world_remove_watch(struct world_watch *watch);

struct clv_caller world_caller(uid_t uid);
struct clv_peer world_peer(uid_t uid, pid_t pid);

/* A lease in the ledger that nothing else knows of. */
struct world_lease {
	const char *name;
	uid_t uid;
	uint32_t percent; /* of the compute */
	uint64_t memory_bytes;
	bool is_queued, is_kept, overcommit;
	enum clv_class class;
	const char *standing;
	uint64_t expires_real_ns;
	struct clv_share_range range;
};
struct clv_lease *world_lease(
	struct clv_agent_device *device, const struct world_lease *spec);
void world_drop(struct clv_lease *lease);

/* Creates a lease through the lifecycle; pid is its holder, 0: it is kept. */
int world_create(const struct clv_lease_request *request, uid_t uid, pid_t pid,
	struct clv_lease **ret);
struct clv_lease_request world_request(uint32_t percent);
/* A gate of the process attaches. */
struct clv_attached *world_attach(struct clv_lease *lease, pid_t pid);
/* The account of the lease's arbiter, to be filled in. */
struct clv_arbiter_sample *world_sample(struct clv_lease *lease);
/* The last share that the arbiter was given. */
const struct clv_share *world_enforced(const struct clv_lease *lease);

/* The overhead that the watchdog has found beyond the allocations of programs. */
uint64_t world_overhead(const struct clv_lease *lease);

/* Lets the loop run until there is nothing to do. */
void world_turn(void);
/* Lets time pass, timers fire and the loop run. */
void world_pass_s(unsigned int seconds);

/* How many events of the type there were. */
uint64_t world_n_events(enum clv_event_type type);

/* The lease as the state file has it; false: it has none. */
bool world_stored(const char *id, struct clv_lease_record *ret);
size_t world_n_stored(void);

/* Fails the test unless table, index, devices, sums, gates and state file agree. */
void world_check(void);
