/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that come and go without a fleet. */
#include "simulate/capacity/demand.h"

#include "base/error.h"
#include "core/fleet/fleet.h"
#include "simulate/departures.h"
#include "simulate/source.h"
#include "simulate/trace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct measure {
	struct clv_demand now, most;
	struct clv_departures departures;
	/* By slot, which stands for a lease. */
	struct clv_demand *held;
	uint32_t *free_slots;
	uint32_t n_slots, n_free;
};

static void add(struct measure *measure, const struct clv_demand *amount, double sign)
{
	measure->now.milli += sign * amount->milli;
	measure->now.cpu_milli += sign * amount->cpu_milli;
	measure->now.memory_mib += sign * amount->memory_mib;
}

/* Returns a slot, or UINT32_MAX if out of memory. */
static uint32_t take_slot(struct measure *measure)
{
	uint32_t had = measure->n_slots, n = had ? 2 * had : 256;
	struct clv_demand *held;
	uint32_t *slots;

	if (measure->n_free > 0)
		return measure->free_slots[--measure->n_free];
	held = reallocarray(measure->held, n, sizeof(*held));
	if (!held)
		return UINT32_MAX;
	measure->held = held;
	slots = reallocarray(measure->free_slots, n, sizeof(*slots));
	if (!slots)
		return UINT32_MAX;
	measure->free_slots = slots;
	for (uint32_t i = n; i-- > had + 1;)
		slots[measure->n_free++] = i;
	measure->n_slots = n;
	return had;
}

/* How long it stays on the slowest model of the fleet. */
static int64_t longest_stay(
	const struct clv_fleet *fleet, const struct clv_trace_item *item)
{
	int64_t longest_s = item->stays_s;

	for (uint32_t i = 0; item->request.n_devices > 0 && i < fleet->n_models; i++) {
		int64_t stays_s = clv_fleet_time_at(item->stays_s,
			fleet->speeds[i] ? fleet->speeds[i] : CLV_FLEET_SPEED);

		longest_s = stays_s > longest_s ? stays_s : longest_s;
	}
	return longest_s;
}

static int arrive(struct measure *measure, const struct clv_fleet *fleet,
	const struct clv_trace_item *item, bool is_timed)
{
	struct clv_demand amount = {
		.milli = clv_fleet_request_milli(fleet, &item->request),
		.cpu_milli = item->request.cpu_milli,
		.memory_mib = item->request.memory_mib,
	};
	int64_t stays_s = longest_stay(fleet, item);
	struct clv_departure departure;
	uint32_t slot;

	while (is_timed &&
		clv_departures_take(&measure->departures, item->arrives_s, &departure)) {
		add(measure, &measure->held[departure.lease], -1);
		measure->free_slots[measure->n_free++] = departure.lease;
	}
	add(measure, &amount, 1);
	measure->most.milli = fmax(measure->most.milli, measure->now.milli);
	measure->most.cpu_milli = fmax(measure->most.cpu_milli, measure->now.cpu_milli);
	measure->most.memory_mib =
		fmax(measure->most.memory_mib, measure->now.memory_mib);
	if (!is_timed || stays_s >= CLV_TRACE_FOREVER - item->arrives_s)
		return 0;
	slot = take_slot(measure);
	if (slot == UINT32_MAX)
		return -ENOMEM;
	measure->held[slot] = amount;
	return clv_departures_add(&measure->departures, item->arrives_s + stays_s, slot);
}

int clv_demand_measure(const char *trace_path, const struct clv_fleet *fleet,
	const struct clv_source_options *options, struct clv_demand *ret,
	struct clv_error *err)
{
	struct measure measure = {.n_slots = 0};
	struct clv_source *source = NULL;
	struct clv_trace_item item;
	int r = clv_source_open(trace_path, fleet, options, &source, err);

	while (r == 0 && (r = clv_source_next(source, &item, err)) > 0) {
		r = arrive(&measure, fleet, &item, options->is_timed);
		if (r < 0)
			clv_error_errno(err, -r, "cannot read the trace");
	}
	clv_source_close(source);
	clv_departures_done(&measure.departures);
	free(measure.held);
	free(measure.free_slots);
	if (r < 0)
		return r;
	*ret = measure.most;
	return 0;
}
