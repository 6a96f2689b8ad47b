/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Right-sizing: which share, memory, class or profile an observed program needs, and how
 * much slower it would run with it.  Pure; the table below has the thresholds.
 *
 * Model of the slowdown.  Time is cut into windows of equal length.  In each window the
 * program wanted a part w of the device: what it held and, where that was all of its
 * share, the time that it waited in line.  All other leases are taken to compute without
 * a pause; idle ones would give their part away, so this is the worst case.  With a share
 * s,
 *
 * - work in bursts no longer than a turn takes max(1, w/s) windows, because unused share
 *   is there for the next burst;
 * - work in long bursts, each of which the program waits for, takes 1 - w + w/s, because
 *   each burst is stretched and the pauses stay as they are;
 * - between SHORT_BURST and LONG_BURST it is interpolated; half of each where bursts are
 *   unknown;
 * - each time the program returns to the device, the turn of another lease is running,
 *   which costs HAND_OVER, whatever the share, unless the program has all of the device.
 *
 * The slowdown is the mean over all windows. */
enum {
	CLV_ADVISE_OBSERVED_S = 30,      /* no advice before this */
	CLV_ADVISE_MEDIUM_AFTER_S = 600, /* medium confidence from here on */
	CLV_ADVISE_HIGH_AFTER_S = 3000,
	CLV_ADVISE_SLOWDOWN_PERCENT = 105, /* accepted slowdown of the proposed share */
	CLV_ADVISE_STEP_PPM = 50000,       /* shares are proposed in steps of this */
	CLV_ADVISE_MEMORY_PERCENT = 112,   /* of the peak */
	CLV_ADVISE_MEMORY_STEP_BYTES = 16 << 20,
	CLV_ADVISE_IDLE_BELOW_PPM = 10000,
	CLV_ADVISE_IDLE_AFTER_S = 600,
	CLV_ADVISE_LARGE_PERCENT = 60, /* too large: less than this part of it suffices */
	CLV_ADVISE_LARGE_BY_PPM = 100000,     /* and at least this much less */
	CLV_ADVISE_LARGE_BY_BYTES = 64 << 20, /* the same for memory */
	CLV_ADVISE_SMALL_PERCENT = 110,       /* too small: slowdown from here on */
	/* of the time waiting in line or throttled by its cap */
	CLV_ADVISE_STARVED_PPM = 100000,
	CLV_ADVISE_FULL_PERCENT = 92, /* of its share: it could have used more */
	CLV_ADVISE_BUSY_PPM = 900000, /* computing without a pause */
	/* request-driven: uses no more than this, spread out */
	CLV_ADVISE_REQUESTS_PPM = 300000,
	CLV_ADVISE_REQUEST_US = 8000, /* with commands no longer than a turn */
	CLV_ADVISE_SHORT_BURST_US = 4000,
	CLV_ADVISE_LONG_BURST_US = 20000,
	CLV_ADVISE_HAND_OVER_US = 1300,
};

/* Observed use of a device in windows of equal length. */
struct clv_advise_use {
	uint32_t *wanted_ppm; /* in ascending order: clv_advise_sort() */
	size_t n;
	uint32_t used_ppm, waiting_ppm, throttled_ppm; /* means */
	double pauses; /* times per second that it left the device and came back */
	bool knows_pauses;
	uint64_t memory_steady_bytes, memory_peak_bytes;
	uint64_t n_refused; /* allocations refused over the quota */
	/* 95th percentile of the durations of its commands; 0: unknown */
	uint64_t command_us;
};

struct clv_advise_part {
	uint32_t share_ppm, cap_ppm;
	uint64_t memory_bytes;
	enum clv_class class;
	char profile[40]; /* or "" */
};

/* A profile of a hardware partition of the device. */
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

/* Percentile of wanted_ppm; the windows must be sorted. */
uint32_t clv_advise_percentile(const struct clv_advise_use *use, unsigned percent);

/* At least 1. */
double clv_advise_slowdown(const struct clv_advise_use *use, uint32_t share_ppm);

/* Proposes the smallest share with an accepted slowdown, the memory that it needs, and
 * the class that suits its pattern of use.  Returns the slowdown. */
double clv_advise_fit(const struct clv_advise_use *use,
	const struct clv_advise_device *device, struct clv_advise_part *ret);

/* Slowdown in a partition, where every burst is stretched and no other lease
 * interferes. */
double clv_advise_slowdown_in_part(
	const struct clv_advise_use *use, uint32_t compute_ppm);

/* The smallest profile with enough memory and an accepted slowdown; NULL if there is
 * none. */
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
	bool has_range; /* its share already moves by demand */
	uint32_t observed_s;
};

struct clv_advice {
	enum clv_advice_kind kind;
	char text[256]; /* one line, for people */
	struct clv_advise_part proposed;
	double slowdown;
};

#define CLV_ADVICES_MAX 4u

/* Finds what is wrong with one lease, the worst first.  Returns the number of advices. */
size_t clv_advise_lease(const struct clv_advise_lease *lease,
	const struct clv_advise_device *device, struct clv_advice ret[CLV_ADVICES_MAX]);

/* "low", "medium", "high". */
const char *clv_advise_confidence(uint32_t observed_s);

/* A split is wrong if a lease starves while another leaves its part unused.  Finds which
 * of the others on the device (NULL: not observed) leaves the most of what the starved
 * lease lacks.  Returns its index, or n if there is none. */
size_t clv_advise_find_idle(const struct clv_advise_lease *starved,
	const struct clv_advise_lease *const *others, size_t n);

/* Advice for the starved lease that names the unused part of idle.  name: the name of
 * idle that the reader may see. */
void clv_advise_split(const struct clv_advise_lease *starved,
	const struct clv_advise_lease *idle, const char *name,
	const struct clv_advise_device *device, struct clv_advice *ret);
