/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Health of a device, derived from what its driver reports.  Pure. */

enum clv_health_state {
	CLV_HEALTH_OK,
	CLV_HEALTH_DEGRADED, /* usable, but new work should not be placed on it */
	CLV_HEALTH_LOST,     /* nothing runs on it */
	_CLV_HEALTH_STATE_MAX,
	_CLV_HEALTH_STATE_INVALID = -22, /* -EINVAL */
};

const char *clv_health_state_to_string(enum clv_health_state state);

#define CLV_HEALTH_REASONS_MAX 8u
#define CLV_HEALTH_TEXT_MAX 160u

struct clv_health_reason {
	char code[16];                  /* "ecc", "xid-79" */
	char text[CLV_HEALTH_TEXT_MAX]; /* the fault and its remedy */
	enum clv_health_state state;    /* state of the device because of it */
	/* The driver reported it once, so it holds until an admin acknowledges it.  Other
	 * reasons hold as long as readings contain them. */
	bool stays;
};

struct clv_health {
	enum clv_health_state state; /* the worst of the reasons */
	struct clv_health_reason reasons[CLV_HEALTH_REASONS_MAX];
	size_t n_reasons;
};

/* Updates the health from a reading.  Returns whether the state or a reason has
 * changed. */
bool clv_health_update(struct clv_health *health, const struct clv_reading *reading);

/* Whether a lease has not given the device back for `seconds`.  Its name is not in
 * the reason, which all tenants see.  Returns whether the state or a reason has changed.
 */
bool clv_health_set_hang(struct clv_health *health, bool is_hanging, uint64_t seconds);

/* An admin acknowledges the faults: drops reasons that stay.  Returns whether there were
 * any. */
bool clv_health_acknowledge(struct clv_health *health);

/* NVIDIA's Xid errors, as "Xid Errors" of its documentation describes them. */
enum clv_xid_effect {
	CLV_XID_OF_PROGRAM, /* caused by a program, which it ended; the device is sound */
	CLV_XID_DEGRADES,
	CLV_XID_LOSES,
};

struct clv_xid {
	uint32_t number; /* 0: not in the table */
	enum clv_xid_effect effect;
	const char *what;
	const char *help;
};

/* Never NULL: an unknown number gets a general entry. */
const struct clv_xid *clv_xid_find(uint32_t number);
