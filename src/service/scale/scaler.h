/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/service.h"

#include <stdbool.h>
#include <stdint.h>

/* How many replicas a service has: a state machine whose only inputs are its settings and
 * what was observed at a time.  No I/O, no clock.
 *
 * Each change restarts the measurement of idle and overutilized times, so that a service
 * grows at most once in over_ns, and shrinks at most once in idle_ns.  It does not shrink
 * where the remaining replicas would be overutilized. */

enum clv_scaler_state {
	CLV_SCALER_AWAKE,
	CLV_SCALER_ASLEEP, /* a request starts it */
	CLV_SCALER_OFF,    /* set to 0 by a user: nothing starts it */
	_CLV_SCALER_STATE_MAX,
};

enum clv_scaler_reason {
	CLV_SCALER_STEADY,
	CLV_SCALER_SET_OFF,
	CLV_SCALER_SLEEPS,        /* asleep, and no request came */
	CLV_SCALER_REQUESTED,     /* a request came: awake */
	CLV_SCALER_BELOW_MIN,     /* replicas are added */
	CLV_SCALER_ABOVE_MAX,     /* replicas are removed */
	CLV_SCALER_STARTING,      /* replicas start: nothing is decided */
	CLV_SCALER_QUIET,         /* no request for idle_ns: asleep */
	CLV_SCALER_AT_MAX,        /* overutilized, with all replicas that it may have */
	CLV_SCALER_NO_ROOM,       /* overutilized, and no device has room */
	CLV_SCALER_OVER,          /* overutilized for over_ns: one more */
	CLV_SCALER_WOULD_BE_OVER, /* idle, but one fewer would be overutilized */
	CLV_SCALER_IDLE,          /* idle for idle_ns: one fewer */
	CLV_SCALER_SET,           /* by a user */
	CLV_SCALER_GAVE_WAY,      /* a replica of another service needs the room */
	_CLV_SCALER_REASON_MAX,
};

/* What is observed of a service. */
struct clv_scaler_look {
	uint64_t now_ns;
	bool has_device;     /* else its use is unknown, and requests alone count */
	uint32_t use_ppm;    /* held time of its leases against their promise, the mean */
	uint64_t n_requests; /* since the proxy started */
	uint32_t n_in_flight; /* requests, or connections of TCP */
	bool has_waiting;     /* a connection waits for a replica */
	bool has_room;        /* for one more replica */
	bool is_failing;      /* its replicas end soon after they start */
	uint32_t n_ready;
};

struct clv_scaler {
	enum clv_scaler_state state;
	uint32_t wanted;
	enum clv_scaler_reason reason;         /* of the last step */
	uint64_t since_idle_ns, since_over_ns; /* UINT64_MAX: it is not */
	uint64_t since_quiet_ns;               /* the last request */
	uint64_t n_requests;
};

/* n: replicas at the start, within the bounds. */
void clv_scaler_start(struct clv_scaler *scaler,
	const struct clv_service_scaling *scaling, uint32_t n, uint64_t now_ns);

/* Decides.  Returns whether the wanted number has changed. */
bool clv_scaler_step(struct clv_scaler *scaler, const struct clv_service_scaling *scaling,
	const struct clv_scaler_look *look);

/* A user's number, at most max_replicas; 0 is asleep where requests can start the
 * service, else off. */
void clv_scaler_set(struct clv_scaler *scaler, const struct clv_service_scaling *scaling,
	uint32_t n, uint64_t now_ns);

/* How many of its n_ready replicas could stop for another service's: those above the
 * minimum of a service that has been idle, or without a request where it can sleep, for
 * after_ns up to the look.  *ret_idle_ns: for how long it has been so. */
uint32_t clv_scaler_spare(const struct clv_scaler *scaler,
	const struct clv_service_scaling *scaling, const struct clv_scaler_look *look,
	uint64_t after_ns, uint64_t *ret_idle_ns);

/* One of them stops: one replica fewer, or asleep. */
void clv_scaler_give_way(struct clv_scaler *scaler,
	const struct clv_service_scaling *scaling, uint64_t now_ns);

/* A sentence for users, without a full stop. */
void clv_scaler_explain(const struct clv_scaler *scaler,
	const struct clv_service_scaling *scaling, char ret[160]);

/* "awake", "asleep", "off" */
const char *clv_scaler_state_to_string(enum clv_scaler_state state);
