/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/policy/heap.h"
#include "core/share/share.h"

#include <stdbool.h>
#include <stdint.h>

#define CLV_EEVDF_NONE UINT32_MAX /* not an id */

/* The order of the runnable leases of one device: EEVDF itself, without sleep, caps or
 * clock times, which the policy adds.  Internal to the policy; ids are its handles.
 *
 * Virtual times are in nanoseconds of a share of 1; share x virtual time is "scaled"
 * service: nanoseconds x CLV_PPM. */
enum clv_eevdf_queue {
	/* Does not compete: it is new, or has its savings. */
	CLV_EEVDF_OUT,
	/* Runnable, by virtual deadline.  find_next corrects entries that V has made
	 * ineligible. */
	CLV_EEVDF_ELIGIBLE,
	CLV_EEVDF_INELIGIBLE, /* runnable, by virtual time */
	/* Not runnable but competing, by the virtual time at which it will have its
	 * savings. */
	CLV_EEVDF_ABSENT,
	_CLV_EEVDF_QUEUE_MAX,
};

struct clv_eevdf_entity {
	uint32_t weight_ppm;
	enum clv_class class;
	enum clv_eevdf_queue queue;
	bool is_new;  /* has never competed */
	bool is_gone; /* removed: only its debt competes; it saves no credit */
	/* Has an unpaid debt from another lease, or from before its own removal. */
	bool carries;
	__int128 vtime; /* valid while it competes */
	__int128 vdeadline;
	__int128 came_at_clock; /* when it last became runnable */
	__int128 came_with;     /* credit at that time, scaled */
	/* While it does not compete: clv_eevdf.served when it left, or when its credit
	 * last declined. */
	__int128 left_at_served;
	__int128 credit; /* while it does not compete, scaled */
	/* While it does not compete: the rest of its request, in virtual time. */
	__int128 request;
	uint64_t remainder; /* scaled service, too little to move vtime */
};

struct clv_eevdf_sum {
	__int128 vtime; /* sum of weight x virtual time */
	uint64_t weight;
};

/* Embedded in the policy; all zero: no entities. */
struct clv_eevdf {
	struct clv_eevdf_entity *entities; /* by id */
	uint32_t capacity;
	uint32_t stretch_percent; /* of requests' usual length; 0: 100 */
	__int128 clock;
	__int128 served;          /* scaled, by all leases, ever */
	__int128 clock_remainder; /* scaled service that has not moved the clock yet */
	struct clv_eevdf_sum runnable;
	struct clv_eevdf_sum competing; /* runnable and absent */
	struct clv_eevdf_sum carrying;  /* of the competing: those with entity.carries */
	struct clv_heap queues[_CLV_EEVDF_QUEUE_MAX]; /* the first stays empty */
};

/* Makes room for the ids 0 .. capacity - 1.  Returns 0 or -ENOMEM (still usable with the
 * old capacity).  None of the functions below allocates. */
int clv_eevdf_reserve(struct clv_eevdf *eevdf, uint32_t capacity);
void clv_eevdf_done(struct clv_eevdf *eevdf);

/* Adds an id, not runnable. */
void clv_eevdf_add(
	struct clv_eevdf *eevdf, uint32_t id, uint32_t weight_ppm, enum clv_class class);
void clv_eevdf_remove(struct clv_eevdf *eevdf, uint32_t id);

/* Removes an id but keeps its debt, which declines like that of a lease that is not
 * runnable.  Returns whether a debt stays; then it ends with clv_eevdf_remove(). */
bool clv_eevdf_retire(struct clv_eevdf *eevdf, uint32_t id);

/* The debt of an id, in scaled service; 0 if it is negligible. */
__int128 clv_eevdf_debt(const struct clv_eevdf *eevdf, uint32_t id);

/* Moves a debt from one id to the other; the debt of both together to others is
 * unchanged.  `to` may be an id that has never competed. */
void clv_eevdf_move_debt(
	struct clv_eevdf *eevdf, uint32_t from, uint32_t to, __int128 scaled);

/* Adds to the debt of an id without a creditor: the clock is not moved. */
void clv_eevdf_add_debt(struct clv_eevdf *eevdf, uint32_t id, __int128 scaled);

void clv_eevdf_update(
	struct clv_eevdf *eevdf, uint32_t id, uint32_t weight_ppm, enum clv_class class);

/* Idempotent. */
void clv_eevdf_set_runnable(struct clv_eevdf *eevdf, uint32_t id, bool runnable);

void clv_eevdf_charge(struct clv_eevdf *eevdf, uint32_t id, uint64_t held_ns);

/* The eligible id with the earliest deadline; CLV_EEVDF_NONE when none is runnable. */
uint32_t clv_eevdf_find_next(struct clv_eevdf *eevdf);

/* The request of a class, without stretching: 1, 8, 16 ms. */
uint64_t clv_eevdf_slice_ns(enum clv_class class);

/* The present length of a class's requests. */
uint64_t clv_eevdf_request_ns(const struct clv_eevdf *eevdf, enum clv_class class);

/* Cuts what is left of a request that is longer than the present length allows. */
void clv_eevdf_shorten_request(struct clv_eevdf *eevdf, uint32_t id);

/* How long the turn of the id that find_next returned should be. */
uint64_t clv_eevdf_turn_ns(const struct clv_eevdf *eevdf, uint32_t id);

bool clv_eevdf_preempts(const struct clv_eevdf *eevdf, uint32_t waker, uint32_t holder);
int64_t clv_eevdf_lag_ns(const struct clv_eevdf *eevdf, uint32_t id);
