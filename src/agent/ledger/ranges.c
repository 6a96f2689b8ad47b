/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the shares of leases with a range, and reports moves in summary. */
#include "agent/ledger/ranges.h"

#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/promises.h"
#include "agent/record/agent.h"
#include "agent/record/lease-request.h"
#include "arbiter/arbiter.h"
#include "base/clock.h"
#include "base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* Moves are reported in one event once the share has rested for RESTS_AFTER_NS, or every
 * TELL_EVERY_NS. */
#define RESTS_AFTER_NS (3 * CLV_NS_PER_S)
#define REPORT_EVERY_NS (30 * CLV_NS_PER_S)
#define RATE_TO_PPM (CLV_PPM / 10000u)

struct members {
	struct clv_range_member *items;
	struct clv_lease **leases;
	size_t n;
	uint64_t room_ppm;
};

static bool has_range(const struct clv_lease *lease)
{
	return lease->record.share.range.most_ppm > 0 && !lease->record.is_queued;
}

static size_t count_ranges(const struct clv_agent_device *device)
{
	size_t n = 0;

	for (size_t i = 0; i < device->n_leases; i++)
		n += has_range(device->leases[i]);
	return n;
}

/* The compute that leases with a range share: the device less its promises to leases
 * without a range and its standing shares. */
static uint64_t find_room(
	const struct clv_agent *agent, const struct clv_agent_device *device)
{
	struct clv_promised promised;
	uint64_t others_ppm;

	clv_promises_add_up(agent, device, NULL, "", &promised);
	others_ppm = promised.compute_ppm;
	for (size_t i = 0; i < device->n_leases; i++) {
		const struct clv_lease_record *record = &device->leases[i]->record;

		if (!has_range(device->leases[i]))
			continue;
		assert(others_ppm >= record->share.range.least_ppm);
		others_ppm -= record->share.range.least_ppm;
	}
	return others_ppm < CLV_PPM ? CLV_PPM - others_ppm : 0;
}

/* Collects the leases with a range; none without memory. */
static void gather(const struct clv_agent *agent, const struct clv_agent_device *device,
	struct members *ret)
{
	size_t n = count_ranges(device);

	*ret = (struct members){0};
	if (n == 0)
		return;
	ret->items = calloc(n, sizeof(*ret->items));
	ret->leases = calloc(n, sizeof(struct clv_lease *));
	for (size_t i = 0; ret->items && ret->leases && i < device->n_leases; i++) {
		struct clv_lease *lease = device->leases[i];

		if (!has_range(lease))
			continue;
		ret->leases[ret->n] = lease;
		ret->items[ret->n++] = (struct clv_range_member){
			.range = lease->record.share.range,
			.watch = &lease->range.watch,
			.share_ppm = lease->record.share.compute_ppm,
		};
	}
	ret->room_ppm = find_room(agent, device);
}

static void move_share(struct clv_lease *lease, uint32_t to_ppm)
{
	struct clv_share *share = &lease->record.share;
	struct clv_lease_range *range = &lease->range;
	struct clv_share held;

	if (to_ppm == share->compute_ppm)
		return;
	range->moved_ns = clv_clock_ns();
	if (range->reported_ppm == 0) {
		range->reported_ppm = share->compute_ppm;
		range->moved_since_ns = range->moved_ns;
	}
	share->compute_ppm = to_ppm;
	held = clv_lease_enforced_share(lease);
	if (lease->arbiter_lease)
		clv_arbiter_update(lease->device->arbiter, lease->arbiter_lease, &held);
}

static void carry_out(const struct members *members)
{
	for (size_t i = 0; i < members->n; i++)
		move_share(members->leases[i], members->items[i].share_ppm);
}

static void free_members(struct members *members)
{
	free(members->items);
	free(members->leases);
}

void clv_ranges_fit(struct clv_agent *agent, const struct clv_agent_device *device)
{
	struct members members;

	gather(agent, device, &members);
	clv_range_fit(members.items, members.n, members.room_ppm);
	carry_out(&members);
	free_members(&members);
}

struct clv_share_request clv_ranges_wanted(
	const struct clv_share *has, const struct clv_lease_request *request)
{
	bool is_fixed = request->has_share && request->share.range.most_ppm == 0;

	return (struct clv_share_request){
		.compute_ppm = is_fixed ? request->share.compute_ppm : has->compute_ppm,
		.cap_ppm = request->has_cap ? request->share.cap_ppm : has->cap_ppm,
		.memory_bytes = request->has_memory ? request->share.memory_bytes
						    : has->memory_bytes,
		.spill_bytes = request->has_spill ? request->share.spill_bytes
						  : has->spill_bytes,
		.class = request->has_class ? request->share.class : has->class,
		.range = request->has_share ? request->share.range : has->range,
	};
}

static void observe(struct clv_lease *lease)
{
	const uint64_t *now = lease->usage.usage.now.values;
	uint64_t waiting = now[CLV_HISTORY_WAITING];
	uint64_t throttled = now[CLV_HISTORY_THROTTLED];

	waiting = waiting > throttled ? waiting - throttled : 0;
	clv_range_record(&lease->range.watch, lease->record.share.compute_ppm,
		(uint32_t)now[CLV_HISTORY_SHARE_USED] * RATE_TO_PPM,
		(uint32_t)waiting * RATE_TO_PPM);
}

static void report_move(struct clv_lease *lease)
{
	struct clv_lease_range *range = &lease->range;
	uint64_t now_ns = clv_clock_ns();
	char from[16], to[16];

	if (range->reported_ppm == 0 ||
		(now_ns - range->moved_ns < RESTS_AFTER_NS &&
			now_ns - range->moved_since_ns < REPORT_EVERY_NS))
		return;
	clv_units_format_fraction(range->reported_ppm, from);
	clv_units_format_fraction(lease->record.share.compute_ppm, to);
	if (range->reported_ppm != lease->record.share.compute_ppm)
		clv_lease_emit(lease, CLV_EVENT_SHARE_MOVED,
			"share from %s to %s in %" PRIu64 " s", from, to,
			(range->moved_ns - range->moved_since_ns) / CLV_NS_PER_S + 1);
	range->reported_ppm = 0;
}

static void tick(struct clv_agent *agent, const struct clv_agent_device *device)
{
	struct members members;

	gather(agent, device, &members);
	for (size_t i = 0; i < members.n; i++)
		observe(members.leases[i]);
	clv_range_move(members.items, members.n, members.room_ppm);
	carry_out(&members);
	for (size_t i = 0; i < members.n; i++)
		report_move(members.leases[i]);
	free_members(&members);
}

void clv_ranges_tick(struct clv_agent *agent)
{
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++)
		tick(agent, clv_devices_at(agent->devices, i));
}
