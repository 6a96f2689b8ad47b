/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of clusters, of any bytes.  What is read must be a fleet whose totals are
 * correct with what runs on it, and requests that the fleet can be asked for. */
#include "fuzz.h"

#include "base/error.h"
#include "core/fleet/fleet.h"
#include "simulate/files/nodes.h"
#include "simulate/files/plan-file.h"
#include "simulate/files/rows.h"
#include "simulate/files/snapshot.h"

#include <stdio.h>

static void check_failure(int r, const struct clv_error *err)
{
	CLV_MUST(err->code == r && err->msg[0] != '\0');
}

static void try_trace(const struct clv_snapshot *snapshot, const struct clv_fleet *fleet,
	bool is_waiting_only)
{
	struct clv_snapshot_odd odd = {0};
	struct clv_plan_trace trace = {0};
	struct clv_error err = {0};
	int r = clv_snapshot_read_trace(
		snapshot, fleet, is_waiting_only, &trace, &odd, &err);

	if (r < 0) {
		check_failure(r, &err);
		return;
	}
	CLV_MUST(trace.n_entries > 0 && (odd.n == 0) == (odd.first[0] == '\0'));
	for (size_t i = 0; i < trace.n_entries; i++) {
		const struct clv_plan_entry *entry = &trace.entries[i];

		CLV_MUST(clv_fleet_check(fleet, &entry->request, NULL) == 0);
		CLV_MUST(entry->count == 1 && entry->n_gang <= CLV_TRACE_GANG_MAX);
		CLV_MUST(i == 0 || entry[-1].at_ns <= entry->at_ns);
	}
	clv_plan_trace_done(&trace);
}

static void try_snapshot(struct clv_snapshot *snapshot)
{
	struct clv_fleet *fleet = clv_fleet_new();
	struct clv_snapshot_odd odd = {0};
	struct clv_node_notes notes = {0};
	struct clv_error err = {0};
	int r;

	CLV_MUST(fleet);
	r = clv_snapshot_add_nodes(snapshot, fleet, &notes, &odd, &err);
	CLV_MUST(notes.n == fleet->n_nodes && (r == 0) == (fleet->n_nodes > 0));
	if (r == 0)
		CLV_MUST(clv_snapshot_take_running(snapshot, fleet, &err) == 0);
	else
		check_failure(r, &err);
	CLV_MUST(clv_fleet_audit(fleet) == NULL);
	try_trace(snapshot, fleet, false);
	try_trace(snapshot, fleet, true);
	free(notes.items);
	clv_fleet_free(fleet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_snapshot *snapshot = NULL;
	struct clv_error err = {0};
	FILE *file;
	int r;

	if (n_bytes == 0)
		return 0;
	file = fmemopen((void *)(uintptr_t)data, n_bytes, "r");
	if (!file)
		return 0;
	r = clv_snapshot_read(file, "cluster.json", &snapshot, &err);
	fclose(file);
	CLV_MUST((r == 1) == (snapshot != NULL));
	if (r < 0)
		check_failure(r, &err);
	else if (snapshot)
		try_snapshot(snapshot);
	clv_snapshot_close(snapshot);
	return 0;
}
