/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

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

/* A process that is attached to a lease, or was when an earlier agent ran. */
struct clv_attached {
	TAILQ_ENTRY(clv_attached) entry;
	struct clv_lease *lease;
	struct clv_process_record record;
	struct clv_watch *watch;
	bool has_slot;         /* the arbiter counts record.slot for it */
	bool is_connected;     /* its gate's connection is open */
	bool has_told_threads; /* over this connection, in which it computes */
	/* Ends that connection; the gate server's. */
	void (*disconnect)(struct clv_attached *process);
	bool is_reattached; /* spoke to this agent */
	/* What holds it to the lease's limit in space, and to how many. */
	enum clv_attach_sm sm;
	uint32_t sm_count;
	/* For agent/lease/heirs.h. */
	struct clv_process_layout layout;
	struct clv_process_id *ancestors;
	size_t n_ancestors;
	uint64_t noted_ns;
	/* When it is looked at again, without a connection; each time later. */
	uint64_t look_at_ns, look_interval_ns;
};
TAILQ_HEAD(clv_attached_list, clv_attached);

/* What a driver says that its processes compute, and what the ledger gave it: parts of
 * the device's time. */
struct clv_lease_work {
	bool is_known;
	double utilization;
	double mean_utilization, mean_held; /* over the last looks */
	uint64_t looked_ns, held_ns;        /* the last look, and its account then */
	uint64_t over_ns;  /* since when it computes more; 0: it does not */
	bool is_past_gate; /* for long enough that it was reported */
};

#define CLV_OVERHEADS 3

/* What the drivers say of a lease, beside what its gates say. */
struct clv_lease_truth {
	bool is_known;         /* a driver shows its processes and what they hold */
	uint64_t memory_bytes; /* that they hold */
	uint64_t over_ns;      /* since when it is over its quota; 0: it is not */
	uint64_t within_ns;    /* since when it is not any more */
	bool is_over;          /* for long enough that it was reported */
	bool is_throttled;
	struct clv_lease_work work;
	uint64_t noted_bytes; /* that its programs had asked for a second ago or less */
	uint64_t overheads[CLV_OVERHEADS]; /* what drivers said beyond that, lately */
	size_t n_overheads;
	uint32_t ungated; /* APIs in use that no gate holds: bits of ungated.h */
	/* When it last completed something or had nothing to complete, and its counters
	 * then; 0: never. */
	uint64_t progress_ns, done, overdue;
	bool is_stuck; /* for a minute, while others waited for it */
};

/* What a lease with a range keeps of it. */
struct clv_lease_range {
	struct clv_range_watch watch;
	/* Moves that no event has told of yet. */
	uint32_t told_ppm; /* the share that the last one told of; 0: it has not moved */
	uint64_t moved_since_ns, moved_ns; /* the first and the last of these moves */
};

/* Who holds a share: its tenant, its resources, the processes in it.  Owned by the
 * ledger; loop thread only. */
struct clv_lease {
	TAILQ_ENTRY(clv_lease) entry;
	struct clv_agent *agent;
	uint64_t sequence;                /* larger than that of every earlier one */
	struct clv_agent_device *device;  /* the first: its gate runs on this one */
	struct clv_agent_device **others; /* NULL: it has one */
	uint64_t would_have;              /* while it waits: the queue's */
	uint32_t position;                /* the same */
	size_t n_others;
	struct clv_lease_record record;
	uid_t owner;                       /* of the tenant: clv_owner_of() */
	LIST_HEAD(, clv_holding) holdings; /* by living processes */
	LIST_ENTRY(clv_lease) of_id, of_name, of_owner; /* in the ledger's index */
	/* The agent's list while it has an arbiter_lease, the ledger's while it is
	 * dormant. */
	LIST_ENTRY(clv_lease) of_use;
	bool is_dormant; /* adopted, its socket is still to be opened */
	bool is_ending;  /* its processes are being ended; nobody new attaches */
	sd_event_source *ending_timer;
	struct clv_attached_list processes;
	uint32_t n_processes;
	struct clv_gate_server *gate;            /* while active */
	struct clv_arbiter_lease *arbiter_lease; /* from the first attach */
	char debtor[CLV_POLICY_TENANT_MAX];      /* from then on: agent/lease/debts.h */
	/* Once a second: the account, for share_used, and counters whose growth is an
	 * event. */
	struct {
		uint64_t time_ns, held_ns;
	} samples[CLV_LEASE_SAMPLES]; /* the older one first */
	uint64_t seen_refused, seen_overdue;
	/* After an adoption: slots of processes that died meanwhile, to be cleared, and
	 * the time for the living ones to bring the report page along. */
	uint64_t dead_slots[CLV_SLOTS / 64];
	sd_event_source *settle_timer; /* NULL: settled */
	struct clv_lease_usage usage;
	struct clv_lease_range range;
	uint64_t refused_before;   /* allocations, over a quota that it no longer has */
	uint64_t refusal_event_ns; /* the last process_refused, to keep them rare */
	/* On a device that stops work half-way (agent/lease/executor.c): for so many
	 * seconds not all of its processes is known; and it was reported that its is
	 * waited for.
	 */
	uint32_t n_behind;
	bool is_waited_for;
	uint64_t looks_since_ns, looks_ns; /* in this second: agent/lease/heirs.h */
	struct clv_seen *seen;             /* likewise; owned */
	/* The last process of which no heir was found, and when. */
	struct clv_process_id heirless;
	uint64_t heirless_ns;
	struct clv_lease_truth truth;
	struct clv_kernel_quota *kernel_quota; /* NULL: the kernel knows none */
};
TAILQ_HEAD(clv_lease_list, clv_lease);

/* Its devices in order; NULL behind the last. */
struct clv_agent_device *clv_lease_device(const struct clv_lease *lease, size_t at);
bool clv_lease_is_on(
	const struct clv_lease *lease, const struct clv_agent_device *device);
/* One more; -E2BIG. */
int clv_lease_add_device(struct clv_lease *lease, struct clv_agent_device *device);

/* The account now, earlier agents' time included. */
void clv_lease_sample(const struct clv_lease *lease, struct clv_arbiter_sample *ret);

/* The record with the account as it is now, to be stored. */
void clv_lease_snapshot(const struct clv_lease *lease, struct clv_lease_record *ret);

/* The share that the arbiter is to hold the lease to: its own, or less while it is
 * throttled. */
struct clv_share clv_lease_enforced_share(const struct clv_lease *lease);

/* An event of the lease and its device. */
void clv_lease_emit(const struct clv_lease *lease, enum clv_event_type type,
	const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Held time over the last second, 0 to 1. */
double clv_lease_share_used(const struct clv_lease *lease);

/* The lease's own folder and socket. */
int clv_lease_make_folder(const struct clv_lease *lease, struct clv_error *err);
/* Hands the folder to the tenant, once the socket is in it. */
int clv_lease_give_folder(const struct clv_lease *lease, struct clv_error *err);
void clv_lease_remove_folder(const struct clv_lease *lease);
void clv_lease_folder(const struct clv_lease *lease, char *ret, size_t ret_bytes);
void clv_lease_socket(const struct clv_lease *lease, char *ret, size_t ret_bytes);

/* "l" and 16 random hexadecimal digits. */
int clv_lease_make_id(char ret[CLV_LEASE_ID_MAX]);

/* For people: what it may have. */
void clv_lease_describe_share(const struct clv_share *share, char *ret, size_t ret_bytes);

/* For people: its name, where it is, what it may have. */
void clv_lease_describe(const struct clv_lease *lease, char *ret, size_t ret_bytes);

/* Whether any of its devices is root or a part of it. */
bool clv_lease_is_below(
	const struct clv_lease *lease, const struct clv_agent_device *root);
