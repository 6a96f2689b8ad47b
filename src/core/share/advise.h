/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a program that was watched would do with: the right share, memory, class or
 * profile, and how much slower it would be in it.  Pure; thresholds are the table below.
 *
 * The rule of the slowdown.  The time is cut into windows of one length.  In each, the
 * program wanted a part w of the device: what it held, and where that was all of its
 * share the time it stood in line. All other leases compute; idle ones give their part
 * away, so this is the worst of it. In a share s,
 *
 * - work that comes in bursts as short as a turn takes max(1, w/s) windows, because what
 * is not used of the share is there for the next burst;
 * - work that comes in long bursts, each of which the program waits for, takes
 *   1 - w + w/s, because each is stretched and the pauses stay as they are;
 * - between SHORT_BURST and LONG_BURST it is in proportion, and half of it where nothing
 * is known of bursts;
 * - each time the program comes back to the device it is in the middle of another's turn,
 *   which costs HAND_OVER, whatever the share, unless it has all of the device.
 *
 * The slowdown is the mean of this over all windows. */
enum {
	CLV_ADVISE_WATCHED_S = 30,       /* before that nothing is said */
	CLV_ADVISE_MEDIUM_AFTER_S = 600, /* confidence */
	CLV_ADVISE_HIGH_AFTER_S = 3000,
	CLV_ADVISE_SLOWDOWN_PERCENT = 105, /* the right share costs no more */
	CLV_ADVISE_STEP_PPM = 50000,       /* shares are proposed in steps of this */
	CLV_ADVISE_MEMORY_PERCENT = 112,   /* of the peak */
	CLV_ADVISE_MEMORY_STEP_BYTES = 16 << 20,
	CLV_ADVISE_IDLE_BELOW_PPM = 10000,
	CLV_ADVISE_IDLE_AFTER_S = 600,
	CLV_ADVISE_LARGE_PERCENT = 60,        /* too large: less than this would do */
	CLV_ADVISE_LARGE_BY_PPM = 100000,     /* and so much less */
	CLV_ADVISE_LARGE_BY_BYTES = 64 << 20, /* the same of memory */
	CLV_ADVISE_SMALL_PERCENT = 110,       /* too small: so much slower as it is */
	CLV_ADVISE_STARVED_PPM = 100000,  /* of the time in line, or kept by its cap */
	CLV_ADVISE_FULL_PERCENT = 92,     /* of its share: it would have used more */
	CLV_ADVISE_BUSY_PPM = 900000,     /* computing without a pause */
	CLV_ADVISE_REQUESTS_PPM = 300000, /* requests: no more than this, spread out */
	CLV_ADVISE_REQUEST_US = 8000,     /* with commands no longer than a turn */
	CLV_ADVISE_SHORT_BURST_US = 4000,
	CLV_ADVISE_LONG_BURST_US = 20000,
	CLV_ADVISE_HAND_OVER_US = 1300,
};

/* Parts of a device in windows of one length. */
struct clv_advise_use {
	uint32_t *wanted_ppm; /* in ascending order: clv_advise_sort() */
	size_t n;
	uint32_t used_ppm, waiting_ppm, throttled_ppm; /* means */
	double pauses; /* so often a second it left the device and came back */
	bool knows_pauses;
	uint64_t memory_steady_bytes, memory_peak_bytes;
	uint64_t n_refused;  /* allocations, over the quota */
	uint64_t command_us; /* how long all but a twentieth of its commands were; 0: not
				known */
};

struct clv_advise_part {
	uint32_t share_ppm, cap_ppm;
	uint64_t memory_bytes;
	enum clv_class class;
	char profile[40]; /* or "" */
};

/* A shape that the device can be divided into, by hardware. */
struct clv_advise_profile {
	char name[40];
	uint32_t compute_ppm;
	uint64_t memory_bytes;
};

struct clv_advise_device {
	char name[72];
	uint64_t memory_bytes;
	const struct clv_advise_profile *profiles;
	size_t n_profiles;
};

void clv_advise_sort(struct clv_advise_use *use);

/* Of the sorted windows. */
uint32_t clv_advise_percentile(const struct clv_advise_use *use, unsigned percent);

/* At least 1. */
double clv_advise_slowdown(const struct clv_advise_use *use, uint32_t share_ppm);

/* The smallest share in which the share does not make it noticeably slower, the memory
 * that it needs, and the class that is made for its way of working.  Returns the
 * slowdown. */
double clv_advise_fit(const struct clv_advise_use *use,
	const struct clv_advise_device *device, struct clv_advise_part *ret);

/* Alone in a part of the hardware, where every burst is stretched and nobody is met. */
double clv_advise_slowdown_in_part(
	const struct clv_advise_use *use, uint32_t compute_ppm);

/* The smallest profile that has the memory and in which it is not noticeably slower;
 * NULL: there is none. */
const struct clv_advise_profile *clv_advise_profile(
	const struct clv_advise_use *use, const struct clv_advise_device *device);

enum clv_advice_kind {
	CLV_ADVICE_IDLE,
	CLV_ADVICE_IMBALANCED,
	CLV_ADVICE_TOO_SMALL,
	CLV_ADVICE_TOO_LARGE,
	CLV_ADVICE_WRONG_CLASS,
	CLV_ADVICE_USE_PROFILE,
	_CLV_ADVICE_MAX,
};
const char *clv_advice_kind_to_string(enum clv_advice_kind kind);

struct clv_advise_lease {
	struct clv_advise_use use;
	struct clv_advise_part has;
	bool has_range; /* its share is moved by demand already */
	uint32_t observed_s;
};

struct clv_advice {
	enum clv_advice_kind kind;
	char text[256]; /* one line, for people */
	struct clv_advise_part proposed;
	double slowdown;
};

#define CLV_ADVICES_MAX 4u

/* What is wrong with one lease, the worst first; at most so many. */
size_t clv_advise_lease(const struct clv_advise_lease *lease,
	const struct clv_advise_device *device, struct clv_advice ret[CLV_ADVICES_MAX]);

/* "low", "medium", "high". */
const char *clv_advise_confidence(uint32_t observed_s);

/* A split is wrong when somebody starves beside a part that lies idle.  Which of the
 * others on the device (NULL among them: not watched) has most left over that this one
 * could use; n: nobody has. */
size_t clv_advise_find_idle(const struct clv_advise_lease *starved,
	const struct clv_advise_lease *const *others, size_t n);

/* The same lease with the part of idle that it does not need.  name: of idle, as the
 * reader may know it. */
void clv_advise_split(const struct clv_advise_lease *starved,
	const struct clv_advise_lease *idle, const char *name,
	const struct clv_advise_device *device, struct clv_advice *ret);

bool clv_advise_is_starved(const struct clv_advise_lease *lease);
