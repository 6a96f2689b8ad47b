/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which replica starts or stops next: towards the wanted number, and from an old
 * generation to a new one, one at a time, as the health of replicas allows.  Pure. */

enum clv_replica_state {
	CLV_REPLICA_STARTING, /* also while its lease is queued */
	CLV_REPLICA_READY,
	CLV_REPLICA_FAILED,   /* ended, or never became healthy */
	CLV_REPLICA_DRAINING, /* gets no new requests */
	CLV_REPLICA_FROZEN,   /* asleep, with its memory */
};

struct clv_rollout_replica {
	enum clv_replica_state state;
	uint64_t generation;
	bool is_drained; /* no request is in it, or its time to end them is over */
};

struct clv_rollout {
	uint64_t generation; /* the wanted one */
	uint64_t previous;   /* to which a failed update is undone; 0: none */
	bool is_proven;      /* all replicas were of the generation, and ready */
};

struct clv_rollout_look {
	const struct clv_rollout_replica *replicas;
	size_t n;
	size_t n_slots; /* replicas that there can be, draining ones too */
	uint32_t wanted;
	bool stops_first; /* an update stops a replica before it starts the next */
	bool has_room;    /* for a replica beyond those that run */
	bool freezes;     /* what is drained freezes, and is not removed */
	bool may_start;   /* dependencies are there, and no failure is too recent */
};

enum clv_rollout_act {
	CLV_ROLLOUT_NOTHING,
	CLV_ROLLOUT_START,  /* a replica of the wanted generation */
	CLV_ROLLOUT_THAW,   /* the frozen replica at `at`, in place of a start */
	CLV_ROLLOUT_DRAIN,  /* the replica at `at` */
	CLV_ROLLOUT_FREEZE, /* the replica at `at` */
	CLV_ROLLOUT_REMOVE, /* the replica at `at`, at once */
	CLV_ROLLOUT_UNDO,   /* a replica of the new generation failed: it is given up */
};

struct clv_rollout_step {
	enum clv_rollout_act act;
	size_t at;
};

/* Wants another generation from now on. */
void clv_rollout_update(struct clv_rollout *rollout, uint64_t generation);

/* The next step.  Also keeps is_proven, and on UNDO the generations. */
struct clv_rollout_step clv_rollout_next(
	struct clv_rollout *rollout, const struct clv_rollout_look *look);

/* Whether replicas are of another generation than the wanted one. */
bool clv_rollout_is_updating(
	const struct clv_rollout *rollout, const struct clv_rollout_look *look);

/* The pause before a service whose replicas fail starts the next one: 1 s after the first
 * failure, then twice as long after each, up to 5 minutes. */
struct clv_backoff {
	uint32_t n_failures;
	uint64_t failed_ns; /* the last time */
	uint64_t until_ns;
};

void clv_backoff_fail(struct clv_backoff *backoff, uint64_t now_ns);
/* A replica has been ready since then: a minute of that in which none has failed ends the
 * memory of failures. */
void clv_backoff_succeed(struct clv_backoff *backoff, uint64_t since_ns, uint64_t now_ns);
