/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ranges: the rule by which their shares move, once a second.  Pure.
 *
 * A lease wants more if it used nearly all of its share and waited in line for a good
 * part of the second.  After some such seconds in a row its share rises, a step a second,
 * to the upper bound of its range.  A lease that used far less than its share for a
 * longer time falls, a step a second, to what it used plus some headroom.  In between
 * nothing moves.  If the room does not suffice there is a common level: no lease has more
 * than the level while one that wants more has less.  For constant demand this is a fixed
 * point: it is reached and kept. */

enum {
	CLV_RANGE_WANTS_USED_PERCENT = 92,    /* of its share */
	CLV_RANGE_WANTS_WAITING_PERCENT = 10, /* of the second */
	CLV_RANGE_RISES_AFTER_S = 3,
	CLV_RANGE_FALLS_AFTER_S = 10,
	CLV_RANGE_FALLS_BELOW_PERCENT = 80, /* of its share, headroom included */
	CLV_RANGE_ROOM_PERCENT = 125, /* headroom: of the highest use in that time */
	CLV_RANGE_STEP_PPM = 100000,
};

/* Recent use of a lease; zeroed: nothing yet. */
struct clv_range_watch {
	uint32_t used_ppm[CLV_RANGE_FALLS_AFTER_S];
	uint32_t n_seen;
	uint32_t n_wanting; /* seconds in a row */
};

/* Adds one second: the part of the device that was held, and the part of the time that
 * the lease waited in line for the device (not because of its own cap). */
void clv_range_record(struct clv_range_watch *watch, uint32_t share_ppm,
	uint32_t used_ppm, uint32_t waiting_ppm);

bool clv_range_wants_more(const struct clv_range_watch *watch);

/* A lease with a range on a device. */
struct clv_range_member {
	struct clv_share_range range;
	const struct clv_range_watch *watch;
	uint32_t share_ppm; /* in: the current share; out: the new one */
	uint32_t to_ppm;    /* scratch */
};

/* Moves the shares by one second.  room_ppm: what the members may have together, which is
 * the device less the promises to others.  If the lower bounds do not fit, each gets its
 * lower bound. */
void clv_range_move(struct clv_range_member *members, size_t n, uint64_t room_ppm);

/* Shrinks the largest shares at once until all fit into the room, whatever they want:
 * called when a promise was made to another lease. */
void clv_range_fit(struct clv_range_member *members, size_t n, uint64_t room_ppm);
