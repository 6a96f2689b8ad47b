/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is wrong with a device, from what its driver says of it.  Pure. */

enum clv_health_state {
	CLV_HEALTH_OK,
	CLV_HEALTH_DEGRADED, /* programs may run on it, and should not be put on it */
	CLV_HEALTH_LOST,     /* nothing runs on it */
	_CLV_HEALTH_STATE_MAX,
	_CLV_HEALTH_STATE_INVALID = -22, /* -EINVAL */
};

const char *clv_health_state_to_string(enum clv_health_state state);

#define CLV_HEALTH_REASONS_MAX 8u
#define CLV_HEALTH_TEXT_MAX 160u

struct clv_health_reason {
	char code[16];                  /* "ecc", "xid-79" */
	char text[CLV_HEALTH_TEXT_MAX]; /* what it is, and what would help */
	enum clv_health_state state;    /* what it makes of the device */
	/* It was told once, and holds until an admin says that he has seen to it; others
	 * hold for as long as the driver goes on saying so. */
	bool stays;
};

struct clv_health {
	enum clv_health_state state; /* the worst of the reasons' */
	struct clv_health_reason reasons[CLV_HEALTH_REASONS_MAX];
	size_t n_reasons;
};

/* Takes what a reading says.  Whether the state or a reason has changed. */
bool clv_health_take(struct clv_health *health, const struct clv_reading *reading);

/* A lease that does not give the device back: since so many seconds, with its name; NULL:
 * nobody does that. */
bool clv_health_take_hang(struct clv_health *health, const char *lease, uint64_t seconds);

/* An admin has seen to it: what stays goes.  Whether anything changed. */
bool clv_health_acknowledge(struct clv_health *health);

/* NVIDIA's Xid errors, as "Xid Errors" of its documentation describes them. */
enum clv_xid_effect {
	CLV_XID_OF_PROGRAM, /* a program did it, and ended of it */
	CLV_XID_DEGRADES,
	CLV_XID_LOSES,
};

struct clv_xid {
	uint32_t number; /* 0: none that is known here */
	enum clv_xid_effect effect;
	const char *what;
	const char *help;
};

/* Never NULL. */
const struct clv_xid *clv_xid_find(uint32_t number);
