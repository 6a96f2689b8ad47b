/* SPDX-License-Identifier: Apache-2.0 */
/* One lease: its devices, its account, its descriptions.  The ledger has the table of
 * leases and admission. */
#include "agent/lease/lease.h"

#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/record/agent.h"
#include "arbiter/arbiter.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* A throttled lease keeps a part of its share, at least 1 %, so that it can free
 * memory. */
#define THROTTLED_PART 10u
#define THROTTLED_LEAST_PPM 10000u

struct clv_agent_device *clv_lease_device(const struct clv_lease *lease, size_t at)
{
	if (at == 0)
		return lease->device;
	return at <= lease->n_others ? lease->others[at - 1] : NULL;
}

bool clv_lease_is_on(const struct clv_lease *lease, const struct clv_agent_device *device)
{
	for (size_t i = 0; i <= lease->n_others; i++) {
		if (clv_lease_device(lease, i) == device)
			return true;
	}
	return false;
}

int clv_lease_add_device(struct clv_lease *lease, struct clv_agent_device *device)
{
	struct clv_agent_device **slot;

	if (lease->n_others == CLV_LEASE_DEVICES_MAX - 1)
		return -E2BIG;
	slot = CLV_APPEND(lease->others, lease->n_others);
	if (!slot)
		return -ENOMEM;
	*slot = device;
	return 0;
}

int clv_lease_make_id(char ret[CLV_LEASE_ID_MAX])
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(ret, CLV_LEASE_ID_MAX, "l%016" PRIx64, number);
	return 0;
}

void clv_lease_sample(const struct clv_lease *lease, struct clv_arbiter_sample *ret)
{
	*ret = (struct clv_arbiter_sample){0};
	if (lease->arbiter_lease)
		clv_arbiter_sample(lease->device->arbiter, lease->arbiter_lease, ret);
	ret->held_ns += lease->record.held_ns;
	ret->throttled_ns += lease->record.throttled_ns;
	ret->turns += lease->record.turns;
	ret->revocations += lease->record.revocations;
	ret->overdue += lease->record.overdue;
}

void clv_lease_snapshot(const struct clv_lease *lease, struct clv_lease_record *ret)
{
	struct clv_arbiter_sample sample;

	clv_lease_sample(lease, &sample);
	*ret = lease->record;
	ret->held_ns = sample.held_ns;
	ret->throttled_ns = sample.throttled_ns;
	ret->turns = sample.turns;
	ret->revocations = sample.revocations;
	ret->overdue = sample.overdue;
}

double clv_lease_share_used(const struct clv_lease *lease)
{
	struct clv_arbiter_sample now;
	uint64_t held_ns, time_ns;
	double used;

	if (lease->samples[1].time_ns == 0)
		return 0;
	if (lease->samples[0].time_ns != 0) {
		held_ns = lease->samples[1].held_ns - lease->samples[0].held_ns;
		time_ns = lease->samples[1].time_ns - lease->samples[0].time_ns;
	} else { /* no second sample yet: measure since the first */
		clv_lease_sample(lease, &now);
		held_ns = now.held_ns - lease->samples[1].held_ns;
		time_ns = clv_clock_ns() - lease->samples[1].time_ns;
	}
	used = time_ns > 0 ? (double)held_ns / (double)time_ns : 0;
	return used > 1 ? 1 : used;
}

struct clv_share clv_lease_enforced_share(const struct clv_lease *lease)
{
	struct clv_share share = lease->record.share;
	uint32_t cap_ppm = share.compute_ppm / THROTTLED_PART;

	/* A lease on several devices has each of them whole, so its memory needs no
	 * quota. */
	if (lease->n_others > 0)
		share.memory_bytes = UINT64_MAX;
	if (!lease->observed.is_throttled)
		return share;
	if (cap_ppm < THROTTLED_LEAST_PPM)
		cap_ppm = THROTTLED_LEAST_PPM;
	if (share.cap_ppm == 0 || share.cap_ppm > cap_ppm)
		share.cap_ppm = cap_ppm;
	return share;
}

static void describe_compute(const struct clv_share *share, char ret[40])
{
	char first[16], most[16];

	if (share->range.most_ppm == 0) {
		clv_units_format_fraction(share->compute_ppm, ret);
		return;
	}
	clv_units_format_fraction(share->range.least_ppm, first);
	clv_units_format_fraction(share->range.most_ppm, most);
	snprintf(ret, 40, "%s..%s", first, most);
}

void clv_lease_describe_share(const struct clv_share *share, char *ret, size_t ret_bytes)
{
	char fraction[40], cap[16] = "none", memory[32], spill[64] = "";

	describe_compute(share, fraction);
	if (share->cap_ppm > 0)
		clv_units_format_fraction(share->cap_ppm, cap);
	if (share->spill_bytes > 0) {
		char bytes[32];

		clv_units_format_bytes(share->spill_bytes, bytes);
		snprintf(spill, sizeof(spill), " and %s of the host's", bytes);
	}
	clv_units_format_bytes(share->memory_bytes, memory);
	snprintf(ret, ret_bytes, "share %s, cap %s, memory %s%s, class %s", fraction, cap,
		memory, spill, clv_class_to_string(share->class));
}

void clv_lease_describe(const struct clv_lease *lease, char *ret, size_t ret_bytes)
{
	int used = snprintf(ret, ret_bytes, "%s on %s: ", lease->record.name,
		lease->device->info.name);

	if (used > 0 && (size_t)used < ret_bytes)
		clv_lease_describe_share(
			&lease->record.share, ret + used, ret_bytes - (size_t)used);
}

bool clv_lease_is_below(
	const struct clv_lease *lease, const struct clv_agent_device *root)
{
	struct clv_agent_device *device;

	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++) {
		if (clv_devices_root(device) == root)
			return true;
	}
	return false;
}

void clv_lease_emit(
	const struct clv_lease *lease, enum clv_event_type type, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	clv_events_emit_args(lease->agent, type, &lease->record, lease->device->info.name,
		format, args);
	va_end(args);
}
