/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shares that are ranges: the rule by which they move, once a second.  Pure.
 *
 * A lease wants more when it used nearly all of its share and stood in line for a good
 * part of the second.  When it has wanted more for some seconds in a row its share rises,
 * a step a second, to the most of its range; one that used far less than its share for a
 * longer time falls, a step a second, to what it used and some room.  In between nothing
 * moves. When there is not room for what all would have, nobody has more than a common
 * level while somebody who wants more has less.  For constant demand that is a fixed
 * point: it is reached and kept. */

enum {
	CLV_RANGE_WANTS_USED_PERCENT = 92,    /* of its share */
	CLV_RANGE_WANTS_WAITING_PERCENT = 10, /* of the second */
	CLV_RANGE_RISES_AFTER_S = 3,
	CLV_RANGE_FALLS_AFTER_S = 10,
	CLV_RANGE_FALLS_BELOW_PERCENT = 80, /* of its share, with the room */
	CLV_RANGE_ROOM_PERCENT = 125,       /* of the most used in that time */
	CLV_RANGE_STEP_PPM = 100000,
};

/* What a lease was seen to do lately; zero: nothing yet. */
struct clv_range_watch {
	uint32_t used_ppm[CLV_RANGE_FALLS_AFTER_S];
	uint32_t n_seen;
	uint32_t n_wanting; /* seconds in a row */
};

/* A second is over: what was held of the device, and the part of the time in which it
 * stood in line for the device (not for its own cap). */
void clv_range_see(struct clv_range_watch *watch, uint32_t share_ppm, uint32_t used_ppm,
	uint32_t waiting_ppm);

bool clv_range_wants_more(const struct clv_range_watch *watch);

/* A lease with a range on a device. */
struct clv_range_member {
	struct clv_share_range range;
	const struct clv_range_watch *watch;
	uint32_t share_ppm; /* as it is; becomes as it is to be */
	uint32_t to_ppm;    /* the rule's own */
};

/* One second's move.  room_ppm: what they may have together, which is what the device has
 * and nobody else was promised.  Without room for the least of all, each has its least.
 */
void clv_range_move(struct clv_range_member *members, size_t n, uint64_t room_ppm);

/* Shrinks those who have most, at once, until they fit into the room, whatever they want:
 * something was promised to somebody else. */
void clv_range_fit(struct clv_range_member *members, size_t n, uint64_t room_ppm);
