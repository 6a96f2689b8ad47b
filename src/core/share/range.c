/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of ranges.  Shares fall before others rise, and a rise takes only what is free
 * then, so that the sum never exceeds the room, not even for a moment. */
#include "core/share/range.h"

#include "base/units.h"

#include <assert.h>

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t percent_of(uint32_t ppm, uint32_t percent)
{
	return (uint32_t)((uint64_t)ppm * percent / 100);
}

void clv_range_record(struct clv_range_watch *watch, uint32_t share_ppm,
	uint32_t used_ppm, uint32_t waiting_ppm)
{
	bool is_full = used_ppm >= percent_of(share_ppm, CLV_RANGE_WANTS_USED_PERCENT);
	bool is_kept =
		waiting_ppm >= percent_of(CLV_PPM, CLV_RANGE_WANTS_WAITING_PERCENT);

	watch->used_ppm[watch->n_seen++ % CLV_RANGE_FALLS_AFTER_S] = used_ppm;
	/* A counter that wraps to 0 would look like a new lease. */
	if (watch->n_seen == 2 * CLV_RANGE_FALLS_AFTER_S)
		watch->n_seen = CLV_RANGE_FALLS_AFTER_S;
	if (!is_full || !is_kept)
		watch->n_wanting = 0;
	else if (watch->n_wanting < CLV_RANGE_RISES_AFTER_S)
		watch->n_wanting++;
}

bool clv_range_wants_more(const struct clv_range_watch *watch)
{
	return watch->n_wanting >= CLV_RANGE_RISES_AFTER_S;
}

static uint32_t clamp(const struct clv_share_range *range, uint64_t ppm)
{
	return max_u32(range->least_ppm,
		ppm < range->most_ppm ? (uint32_t)ppm : range->most_ppm);
}

/* At most one step below the current share. */
static uint32_t step_down(uint32_t share_ppm, uint32_t to_ppm)
{
	return share_ppm > CLV_RANGE_STEP_PPM
		       ? max_u32(to_ppm, share_ppm - CLV_RANGE_STEP_PPM)
		       : to_ppm;
}

/* The highest recent use plus headroom, which lets growing demand show. */
static uint32_t enough(const struct clv_range_member *member)
{
	uint32_t most_ppm = 0;

	for (uint32_t i = 0; i < CLV_RANGE_FALLS_AFTER_S; i++)
		most_ppm = max_u32(most_ppm, member->watch->used_ppm[i]);
	return clamp(&member->range, (uint64_t)most_ppm * CLV_RANGE_ROOM_PERCENT / 100);
}

/* The share after this second if there were room for all. */
static uint32_t need_of(const struct clv_range_member *member)
{
	uint32_t share_ppm = member->share_ppm, enough_ppm;

	if (clv_range_wants_more(member->watch))
		return clamp(&member->range, (uint64_t)share_ppm + CLV_RANGE_STEP_PPM);
	if (member->watch->n_seen < CLV_RANGE_FALLS_AFTER_S)
		return clamp(&member->range, share_ppm);
	enough_ppm = enough(member);
	if (enough_ppm >= percent_of(share_ppm, CLV_RANGE_FALLS_BELOW_PERCENT))
		return clamp(&member->range, share_ppm);
	return step_down(share_ppm, enough_ppm);
}

/* What a lease gets at least, and what it would like. */
struct claim {
	uint32_t floor_ppm, to_ppm;
};

static struct claim claim_of(const struct clv_range_member *member)
{
	return (struct claim){member->range.least_ppm, member->to_ppm};
}

static struct claim rise_of(const struct clv_range_member *member)
{
	return (struct claim){
		member->share_ppm, max_u32(member->share_ppm, member->to_ppm)};
}

typedef struct claim (*claim_fn)(const struct clv_range_member *member);

static uint32_t at_level(struct claim claim, uint32_t level_ppm)
{
	return max_u32(claim.floor_ppm, min_u32(claim.to_ppm, level_ppm));
}

/* The highest level at which the claims fit; 0 if not even the floors fit. */
static uint32_t find_level(const struct clv_range_member *members, size_t n,
	claim_fn claim, uint64_t room_ppm)
{
	uint32_t low = 0, high = CLV_PPM;

	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;
		uint64_t sum_ppm = 0;

		for (size_t i = 0; i < n; i++)
			sum_ppm += at_level(claim(&members[i]), middle);
		if (sum_ppm <= room_ppm)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static uint64_t sum_shares(const struct clv_range_member *members, size_t n)
{
	uint64_t sum_ppm = 0;

	for (size_t i = 0; i < n; i++)
		sum_ppm += members[i].share_ppm;
	return sum_ppm;
}

void clv_range_fit(struct clv_range_member *members, size_t n, uint64_t room_ppm)
{
	uint32_t level_ppm = CLV_PPM;

	for (size_t i = 0; i < n; i++) {
		assert(members[i].range.least_ppm <= members[i].range.most_ppm);
		members[i].to_ppm = clamp(&members[i].range, members[i].share_ppm);
	}
	if (sum_shares(members, n) > room_ppm)
		level_ppm = find_level(members, n, claim_of, room_ppm);
	for (size_t i = 0; i < n; i++)
		members[i].share_ppm = at_level(claim_of(&members[i]), level_ppm);
}

void clv_range_move(struct clv_range_member *members, size_t n, uint64_t room_ppm)
{
	uint64_t wanted_ppm = 0;
	uint32_t level_ppm;

	clv_range_fit(members, n, room_ppm);
	for (size_t i = 0; i < n; i++) {
		members[i].to_ppm = need_of(&members[i]);
		wanted_ppm += members[i].to_ppm;
	}
	level_ppm = wanted_ppm > room_ppm ? find_level(members, n, claim_of, room_ppm)
					  : CLV_PPM;
	for (size_t i = 0; i < n; i++) {
		struct clv_range_member *member = &members[i];

		member->to_ppm = at_level(claim_of(member), level_ppm);
		if (member->to_ppm < member->share_ppm)
			member->share_ppm = step_down(member->share_ppm, member->to_ppm);
	}
	level_ppm = find_level(members, n, rise_of, room_ppm);
	for (size_t i = 0; i < n; i++)
		members[i].share_ppm = at_level(rise_of(&members[i]), level_ppm);
}
