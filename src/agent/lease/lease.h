/* SPDX-License-Identifier: Apache-2.0 */
/* A lease: a tenant's right to a share of one or more devices, with the processes that
 * use it.  Declares the lease object, the sampling of its account, its folder and socket,
 * and its descriptions for people. */
#pragma once

#include "agent/os/fd-filter.h"
#include "agent/record/event-record.h"
#include "agent/record/lease-record.h"
#include "agent/record/usage-counters.h"
#include "arbiter/attach.h"
#include "arbiter/page.h"
#include "arbiter/policy/policy.h"
#include "core/share/range.h"
#include "core/share/share.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct clv_agent;
struct clv_kernel_quota;
struct clv_agent_device;
struct clv_arbiter_lease;
struct clv_error;
struct clv_arbiter_sample;
struct clv_gate_server;
struct clv_holding;

#define CLV_LEASE_SAMPLES 2

/* A process that is attached to a lease, or that was attached when an earlier agent
 * ran. */
struct clv_attached {
	TAILQ_ENTRY(clv_attached) entry;
	struct clv_lease *lease;
	struct clv_process_record record;
	struct clv_watch *watch;
	bool has_slot;         /* record.slot is open at the arbiter */
	bool is_connected;     /* its gate's connection is open */
	bool has_sent_threads; /* its compute threads are known, from this connection */
	/* Closes the gate's connection; set by the gate server. */
	void (*disconnect)(struct clv_attached *process);
	/* Reads what the gate sent before its connection ended: the end may be noticed
	 * first. */
	void (*read_rest)(struct clv_attached *process);
	bool is_reattached; /* has attached to this agent, not only to an earlier one */
	/* What enforces the lease's limit in space, and to how many multiprocessors or
	 * compute units. */
	enum clv_attach_sm sm;
	uint32_t sm_count;
	/* Recorded for agent/lease/shared-vm.h, at noted_ns, with the memory in the
	 * record.
	 */
	struct clv_process_id *ancestors;
	size_t n_ancestors;
	uint64_t noted_ns;
	struct clv_orphaned_memory
		*exported; /* agent/lease/orphaned-memory.h; NULL: it exports no memory */
	/* While it has no connection: when its mappings are checked next; the interval
	 * doubles. */
	uint64_t look_at_ns, look_interval_ns;
};
TAILQ_HEAD(clv_attached_list, clv_attached);

/* The driver's utilization of a lease's processes and the lease's held time, both as
 * parts of the device's time: agent/watch/bypass-detect.h. */
struct clv_lease_work {
	bool is_known;
	double utilization;
	double mean_utilization, mean_held; /* moving averages over the last readings */
	uint64_t looked_ns, held_ns;        /* the last reading, and the held time then */
	/* Since when utilization exceeds held time by the tolerance; 0: it does not. */
	uint64_t over_ns;
	bool bypasses_gate; /* over_ns is older than the grace time, and reported */
};

#define CLV_OVERHEADS 3

/* What the drivers report of a lease, independently of its gates. */
struct clv_lease_observed {
	bool is_known;         /* a driver reports the memory of its processes */
	uint64_t memory_bytes; /* of these processes together, by the driver */
	/* Since when memory_bytes exceeds the quota and the tolerance; 0: it does not. */
	uint64_t over_ns;
	/* While is_over: since when it is within the quota again. */
	uint64_t within_ns;
	bool is_over; /* over_ns is older than the grace time, and reported */
	bool is_throttled;
	struct clv_lease_work work;
	uint64_t noted_bytes; /* charged by its gates, at the last tick */
	/* The drivers' figure less that one, in the last readings. */
	uint64_t overheads[CLV_OVERHEADS];
	size_t n_overheads;
	uint32_t ungated; /* reported APIs that no gate enforces: bits of ungated.h */
	/* Of its processes, those in agent/watch/descendants.h; and whether it was
	 * reported that there are more. */
	uint32_t n_checked;
	bool is_crowded;
	/* Sizes and mappings that were read in the tick of that second: ungated.c. */
	uint32_t looked_s, n_sizes, n_checks;
	/* Mappings could not be read in time: none are read before that second.  0: they
	 * always could. */
	uint32_t unread_until_s;
	/* When it last completed work or had none in flight (0: never), and its counters
	 * then. */
	uint64_t progress_ns, done, overdue;
	bool is_stuck; /* no progress for settings->hang_ns while other leases waited */
};

/* The state of a lease's range: agent/ledger/ranges.h. */
struct clv_lease_range {
	struct clv_range_watch watch;
	/* Moves of the share that no event has reported yet. */
	uint32_t reported_ppm; /* the share before these moves; 0: there are none */
	uint64_t moved_since_ns, moved_ns; /* the first and the last of these moves */
};

/* A tenant's right to a share: its record, devices, processes and accounts.  Owned by the
 * ledger; loop thread only. */
struct clv_lease {
	TAILQ_ENTRY(clv_lease) entry;
	struct clv_agent *agent;
	/* Increases with each lease that is added to the ledger. */
	uint64_t sequence;
	/* The first device; its arbiter grants the turns. */
	struct clv_agent_device *device;
	struct clv_agent_device **others; /* the devices after the first; NULL: none */
	/* While queued: the sort key of agent/ledger/queue.c. */
	uint64_t queue_key;
	/* In the queue, 1 is next; set by agent/ledger/queue.c. */
	uint32_t position;
	size_t n_others;
	struct clv_lease_record record;
	uid_t owner;                       /* of the tenant: clv_owner_of() */
	uid_t account;                     /* clv_owner_account() */
	LIST_HEAD(, clv_holding) holdings; /* one for each living holder */
	LIST_ENTRY(clv_lease) of_id, of_name, of_account; /* of the ledger's index */
	/* In agent->in_use while it has an arbiter_lease; in the lifecycle's list while
	 * dormant. */
	LIST_ENTRY(clv_lease) of_use;
	bool is_dormant; /* adopted, and its socket is not open yet */
	bool is_ending;  /* its processes are being ended; no process may attach */
	/* It is in no sum, while agent/lifecycle/trial.h tries placements. */
	bool is_left_out;
	sd_event_source *ending_timer;
	struct clv_attached_list processes;
	uint32_t n_processes;
	struct clv_gate_server *gate;            /* NULL: queued or dormant */
	struct clv_arbiter_lease *arbiter_lease; /* from the first attach */
	/* The account of its debts, from then on: agent/lease/debts.h. */
	char debtor[CLV_POLICY_TENANT_MAX];
	/* Taken once a second: the account, of which clv_lease_share_used() takes the
	 * difference, the older sample first; and counters whose growth is reported as an
	 * event. */
	struct {
		uint64_t time_ns, held_ns;
	} samples[CLV_LEASE_SAMPLES];
	uint64_t seen_refused, seen_overdue;
	/* After an adoption: a bitmap of the slots of processes that died without an
	 * agent, to be cleared; and the time in which a living process may bring the
	 * report page. */
	uint64_t dead_slots[CLV_SLOTS / 64];
	sd_event_source *settle_timer; /* NULL: over */
	struct clv_lease_usage usage;
	struct clv_lease_range range;
	/* Refused allocations up to the last resize, of the former quota. */
	uint64_t refused_before;
	/* Of the last process_refused, which is rate-limited. */
	uint64_t refusal_event_ns;
	/* On a device that preempts work (agent/lease/executor.c): for how many ticks in
	 * turn not all channels of its processes are known; and whether its turns end by
	 * waiting for its work for this reason. */
	uint32_t n_ticks_unknown;
	bool is_not_preempted;
	/* Time spent on lookups in the second since looks_since_ns:
	 * agent/lease/shared-vm.h. */
	uint64_t looks_since_ns, looks_ns;
	struct clv_lookup_cache *seen; /* the cache of these lookups; owned */
	/* The last process for which no sharer was found, and when. */
	struct clv_process_id without_sharer;
	uint64_t without_sharer_ns;
	struct clv_lease_observed observed;
	struct clv_kernel_quota *kernel_quota; /* NULL: the kernel enforces none */
	/* Memory that ended processes left: agent/lease/orphaned-memory.h.  The last is
	 * what stays until the lease ends. */
	TAILQ_HEAD(, clv_orphaned_memory) orphaned;
	uint32_t n_orphaned;
	uint64_t orphaned_look_at_ns;
	struct clv_fd_filter fd_filter;
	pid_t orphaned_reader; /* a child that hangs, or 0 */
	uint64_t lasting_bytes;
	/* agent/api/show/lease-changes.h; 0: it was in no list yet. */
	uint64_t seen_hash, seen_revision;
};
TAILQ_HEAD(clv_lease_list, clv_lease);

/* The lease's devices by index, 0 is the first; NULL after the last. */
struct clv_agent_device *clv_lease_device(const struct clv_lease *lease, size_t at);
bool clv_lease_is_on(
	const struct clv_lease *lease, const struct clv_agent_device *device);
/* Appends a device. 0, -E2BIG or -ENOMEM. */
int clv_lease_add_device(struct clv_lease *lease, struct clv_agent_device *device);

/* The account now, including what earlier agents recorded. */
void clv_lease_sample(const struct clv_lease *lease, struct clv_arbiter_sample *ret);

/* The record with the current account, for the state file. */
void clv_lease_snapshot(const struct clv_lease *lease, struct clv_lease_record *ret);

/* The share that the arbiter enforces: the lease's own, or a lower cap while the lease is
 * throttled for being over its quota. */
struct clv_share clv_lease_enforced_share(const struct clv_lease *lease);

/* Emits an event about the lease, with its first device. */
void clv_lease_emit(const struct clv_lease *lease, enum clv_event_type type,
	const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The part of the last second for which the lease held the device, 0 to 1. */
double clv_lease_share_used(const struct clv_lease *lease);

/* Makes the lease's folder, RUNTIME/lease/ID, owned by the agent. */
int clv_lease_make_folder(const struct clv_lease *lease, struct clv_error *err);
/* Gives the socket to the tenant, who may then enter the folder, unless any process that
 * reaches the socket may attach. */
int clv_lease_give_socket(const struct clv_lease *lease, struct clv_error *err);
void clv_lease_remove_folder(const struct clv_lease *lease);
void clv_lease_folder(const struct clv_lease *lease, char *ret, size_t ret_bytes);
void clv_lease_socket(const struct clv_lease *lease, char *ret, size_t ret_bytes);

/* "l" and 16 random hexadecimal digits. */
int clv_lease_make_id(char ret[CLV_LEASE_ID_MAX]);

/* Writes a share as text for people. */
void clv_lease_describe_share(const struct clv_share *share, char *ret, size_t ret_bytes);

/* Writes the lease's name, device and share as text for people. */
void clv_lease_describe(const struct clv_lease *lease, char *ret, size_t ret_bytes);

/* Whether any of the lease's devices is root or a partition of it. */
bool clv_lease_is_below(
	const struct clv_lease *lease, const struct clv_agent_device *root);
