/* SPDX-License-Identifier: Apache-2.0 */
/* Fleets and traces as CSV, of any bytes; the first byte selects which. Things can be
 * placed in a fleet that was read; a trace is replayed against a small fleet, whose
 * totals must be correct afterwards. */
#include "fuzz.h"

#include "base/error.h"
#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"
#include "core/place/pick.h"
#include "simulate/trace.h"

#include <stdio.h>

#define ROWS_MAX 2000

static void place(struct clv_fleet *fleet, const struct clv_place_request *request)
{
	for (uint32_t i = 0; i < fleet->n_nodes; i++) {
		struct clv_place_at at = {.node = i};
		uint32_t lease;

		if (!clv_fit_node(fleet, &fleet->nodes[i], request))
			continue;
		clv_pick_devices(
			fleet, &fleet->nodes[i], request, CLV_PICK_TIGHTEST, &at);
		CLV_MUST(clv_fleet_take(fleet, request, &at, &lease) == 0);
		return;
	}
}

static void try_fleet(FILE *file)
{
	struct clv_place_request request = {.milli = 500, .n_devices = 1};
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_error err = {0};
	int r = clv_trace_read_fleet(file, "fleet.csv", fleet, &err);

	CLV_MUST(r == 0 ? fleet->n_nodes > 0 : err.code == r && err.msg[0] != '\0');
	place(fleet, &request);
	CLV_MUST(clv_fleet_audit(fleet) == NULL);
	clv_fleet_free(fleet);
}

static void try_trace(FILE *file, bool is_timed)
{
	static const struct clv_fleet_node_spec spec = {.model = "A",
		.cpu_milli = 64000,
		.memory_mib = 262144,
		.device_mib = 40960,
		.n_devices = 4};
	struct clv_fleet *fleet = clv_fleet_new();
	static struct clv_trace trace;
	struct clv_trace_item item;
	struct clv_error err = {0};
	int r = clv_fleet_add_node(fleet, &spec, &err);

	CLV_MUST(r == 0);
	r = clv_trace_begin(&trace, file, "trace.csv", fleet, &err);
	trace.is_timed = is_timed;
	for (unsigned i = 0; r == 0 && i < ROWS_MAX; i++) {
		r = clv_trace_next(&trace, &item, &err);
		if (r <= 0)
			break;
		CLV_MUST(clv_fleet_check(fleet, &item.request, NULL) == 0);
		CLV_MUST(item.arrives_s >= 0 && item.stays_s >= 0);
		place(fleet, &item.request);
		r = 0;
	}
	CLV_MUST(r >= 0 || (err.code == r && err.msg[0] != '\0'));
	CLV_MUST(clv_fleet_audit(fleet) == NULL);
	clv_trace_end(&trace);
	clv_fleet_free(fleet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	FILE *file;

	if (n_bytes < 2)
		return 0;
	file = fmemopen((void *)(uintptr_t)(data + 1), n_bytes - 1, "r");
	if (!file)
		return 0;
	if (data[0] % 4 == 0)
		try_fleet(file);
	else
		try_trace(file, data[0] % 4 == 1);
	fclose(file);
	return 0;
}
