/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/policy/heap.h"
#include "core/share/share.h"

#include <stdbool.h>
#include <stdint.h>

#define CLV_EEVDF_NONE UINT32_MAX /* no id */

/* The order of the runnable leases of one device: EEVDF itself, without sleep, caps or
 * time, which the policy adds.  Internal to the policy; ids are its handles.
 *
 * Virtual times are in nanoseconds of a share of 1; share x virtual time is "scaled"
 * service: nanoseconds x CLV_PPM. */
enum clv_eevdf_queue {
	CLV_EEVDF_OUT,        /* does not compete: is new, or has its savings */
	CLV_EEVDF_ELIGIBLE,   /* runnable, by virtual deadline; find_next looks again */
	CLV_EEVDF_INELIGIBLE, /* runnable, by virtual time */
	CLV_EEVDF_ABSENT,     /* not runnable, by the virtual time when it goes out */
	_CLV_EEVDF_QUEUE_MAX,
};

struct clv_eevdf_entity {
	uint32_t weight_ppm;
	enum clv_class class;
	enum clv_eevdf_queue queue;
	bool is_new;    /* has never competed */
	bool is_gone;   /* only its debt competes: it saves nothing */
	bool carries;   /* a debt of before it came, or went, and has not paid it yet */
	__int128 vtime; /* while it competes */
	__int128 vdeadline;
	__int128 came_at_clock;  /* when it last became runnable */
	__int128 came_with;      /* credit, scaled, at that time */
	__int128 left_at_served; /* while it does not compete, of clv_eevdf's served */
	__int128 credit;         /* scaled, while it does not compete */
	__int128 request;   /* what is left of its request in virtual time, likewise */
	uint64_t remainder; /* scaled service, too little to move vtime */
};

struct clv_eevdf_sum {
	__int128 vtime; /* weight x virtual time */
	uint64_t weight;
};

/* Embedded in the policy; all zero is without entities. */
struct clv_eevdf {
	struct clv_eevdf_entity *entities; /* by id */
	uint32_t capacity;
	uint32_t stretch_percent; /* of requests; 0: they keep their length */
	__int128 clock;
	__int128 served;          /* scaled, by all leases, ever */
	__int128 clock_remainder; /* scaled service that has not moved the clock yet */
	struct clv_eevdf_sum runnable;
	struct clv_eevdf_sum competing;               /* runnable and absent */
	struct clv_eevdf_sum carrying;                /* of these */
	struct clv_heap queues[_CLV_EEVDF_QUEUE_MAX]; /* the first stays empty */
};

/* Makes room for the ids 0 .. capacity - 1.  Returns 0 or -ENOMEM (still usable as it
 * was).  Nothing below allocates. */
int clv_eevdf_reserve(struct clv_eevdf *eevdf, uint32_t capacity);
void clv_eevdf_done(struct clv_eevdf *eevdf);

/* Begins to keep account of an id, not runnable. */
void clv_eevdf_add(
	struct clv_eevdf *eevdf, uint32_t id, uint32_t weight_ppm, enum clv_class class);
void clv_eevdf_remove(struct clv_eevdf *eevdf, uint32_t id);

/* The same, but what it owes stays, and runs down as that of one that is not runnable
 * does.  Returns whether anything stays, until clv_eevdf_remove(). */
bool clv_eevdf_retire(struct clv_eevdf *eevdf, uint32_t id);

/* What it owes, in scaled service; 0: nothing that matters. */
__int128 clv_eevdf_debt(const struct clv_eevdf *eevdf, uint32_t id);

/* One id owes so much less, the other as much more; what both owe to others is the same
 * as before.  to may be one that has never competed. */
void clv_eevdf_move_debt(
	struct clv_eevdf *eevdf, uint32_t from, uint32_t to, __int128 scaled);

/* It owes so much more, to nobody: the clock is left alone. */
void clv_eevdf_owe(struct clv_eevdf *eevdf, uint32_t id, __int128 scaled);

void clv_eevdf_update(
	struct clv_eevdf *eevdf, uint32_t id, uint32_t weight_ppm, enum clv_class class);

/* Idempotent. */
void clv_eevdf_set_runnable(struct clv_eevdf *eevdf, uint32_t id, bool runnable);

void clv_eevdf_charge(struct clv_eevdf *eevdf, uint32_t id, uint64_t held_ns);

/* The eligible one with the earliest deadline; CLV_EEVDF_NONE when none is runnable. */
uint32_t clv_eevdf_find_next(struct clv_eevdf *eevdf);

/* The request of a class, not stretched: 1, 8, 16 ms. */
uint64_t clv_eevdf_slice_ns(enum clv_class class);

/* How long requests of a class are at the moment. */
uint64_t clv_eevdf_request_ns(const struct clv_eevdf *eevdf, enum clv_class class);

/* How long the winner's turn should be. */
uint64_t clv_eevdf_turn_ns(const struct clv_eevdf *eevdf, uint32_t id);

bool clv_eevdf_preempts(const struct clv_eevdf *eevdf, uint32_t waker, uint32_t holder);
int64_t clv_eevdf_lag_ns(const struct clv_eevdf *eevdf, uint32_t id);
