/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/policy/heap.h"
#include "core/share/share.h"

#include <stdbool.h>
#include <stdint.h>

#define CLV_RACE_NONE UINT32_MAX /* no id */

/* The race of the runnable leases for one device: EEVDF proper, without sleep, caps or
 * time, which the policy adds.  Internal to the policy; ids are its handles.
 *
 * Virtual times are in nanoseconds of a share of 1; share x virtual time is "scaled"
 * service: nanoseconds x CLV_PPM. */
enum clv_race_queue {
	CLV_RACE_OUT,        /* does not compete: is new, or has its savings */
	CLV_RACE_ELIGIBLE,   /* runnable, by virtual deadline; find_next looks again */
	CLV_RACE_INELIGIBLE, /* runnable, by virtual time */
	CLV_RACE_ABSENT,     /* not runnable, by the virtual time when it goes out */
	_CLV_RACE_QUEUE_MAX,
};

struct clv_runner {
	uint32_t weight_ppm;
	enum clv_class class;
	enum clv_race_queue queue;
	bool is_new;    /* has never competed */
	bool is_gone;   /* only its debt competes: it saves nothing */
	bool carries;   /* a debt of before it came, or went, and has not paid it yet */
	__int128 vtime; /* while it competes */
	__int128 vdeadline;
	__int128 came_at_clock;  /* when it last became runnable */
	__int128 came_with;      /* credit, scaled, at that time */
	__int128 left_at_served; /* while it does not compete, of the race's served */
	__int128 credit;         /* scaled, while it does not compete */
	__int128 request;   /* what is left of its request in virtual time, likewise */
	uint64_t remainder; /* scaled service, too little to move vtime */
};

struct clv_race_sum {
	__int128 vtime; /* weight x virtual time */
	uint64_t weight;
};

/* Embedded in the policy; all zero is an empty race. */
struct clv_race {
	struct clv_runner *runners; /* by id */
	uint32_t capacity;
	uint32_t stretch_percent; /* of requests; 0: they keep their length */
	__int128 clock;
	__int128 served;          /* scaled, by all leases, ever */
	__int128 clock_remainder; /* scaled service that has not moved the clock yet */
	struct clv_race_sum runnable;
	struct clv_race_sum competing;               /* runnable and absent */
	struct clv_race_sum carrying;                /* of these */
	struct clv_heap queues[_CLV_RACE_QUEUE_MAX]; /* the first stays empty */
};

/* Makes room for the ids 0 .. capacity - 1.  Returns 0 or -ENOMEM (still usable as it
 * was).  Nothing below allocates. */
int clv_race_reserve(struct clv_race *race, uint32_t capacity);
void clv_race_done(struct clv_race *race);

/* Begins to keep account of an id, not runnable. */
void clv_race_add(
	struct clv_race *race, uint32_t id, uint32_t weight_ppm, enum clv_class class);
void clv_race_remove(struct clv_race *race, uint32_t id);

/* The same, but what it owes stays, and runs down as that of one that is not runnable
 * does.  Returns whether anything stays, until clv_race_remove(). */
bool clv_race_retire(struct clv_race *race, uint32_t id);

/* What it owes, in scaled service; 0: nothing that matters. */
__int128 clv_race_debt(const struct clv_race *race, uint32_t id);

/* One id owes so much less, the other as much more; what both owe to others is the same
 * as before.  to may be one that has never competed. */
void clv_race_move_debt(
	struct clv_race *race, uint32_t from, uint32_t to, __int128 scaled);

/* It owes so much more, to nobody: the clock is left alone. */
void clv_race_owe(struct clv_race *race, uint32_t id, __int128 scaled);

void clv_race_update(
	struct clv_race *race, uint32_t id, uint32_t weight_ppm, enum clv_class class);

/* Idempotent. */
void clv_race_set_runnable(struct clv_race *race, uint32_t id, bool runnable);

void clv_race_charge(struct clv_race *race, uint32_t id, uint64_t held_ns);

/* The eligible one with the earliest deadline; CLV_RACE_NONE when none is runnable. */
uint32_t clv_race_find_next(struct clv_race *race);

/* The request of a class, not stretched: 1, 8, 16 ms. */
uint64_t clv_race_slice_ns(enum clv_class class);

/* How long requests of a class are at the moment. */
uint64_t clv_race_request_ns(const struct clv_race *race, enum clv_class class);

/* How long the winner's turn should be. */
uint64_t clv_race_turn_ns(const struct clv_race *race, uint32_t id);

bool clv_race_preempts(const struct clv_race *race, uint32_t waker, uint32_t holder);
int64_t clv_race_lag_ns(const struct clv_race *race, uint32_t id);
