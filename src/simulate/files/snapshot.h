/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct clv_error;
struct clv_fleet;
struct clv_node_notes;
struct clv_plan_trace;

/* Snapshots of live clusters in JSON: Kubernetes' lists of nodes and pods (kubectl get
 * nodes,pods --all-namespaces -o json), and Slurm's nodes or jobs (scontrol show nodes
 * --json).  docs/placement.md says which fields are read.  Nodes that accept no work are
 * left out; the others have the order of the file.  Several threads may read one snapshot
 * at the same time. */

struct clv_snapshot;

/* Nodes, pods and jobs that a fleet or a trace cannot have, and that are left out.
 * Zeroed: none. */
struct clv_snapshot_odd {
	uint64_t n;
	char first[160]; /* which one it was, and why */
};

/* Returns 1; 0 and no snapshot if the file is no snapshot or cannot be read; or -EINVAL
 * with line and column, if it is JSON with a mistake, or -ENOMEM. */
int clv_snapshot_open(const char *path, struct clv_snapshot **ret, struct clv_error *err);
/* The same of a stream, whose name is for messages. */
int clv_snapshot_read(
	FILE *file, const char *name, struct clv_snapshot **ret, struct clv_error *err);
struct clv_snapshot *clv_snapshot_close(struct clv_snapshot *snapshot);

/* Adds the nodes to the fleet, and a note without a price for each to notes, which may be
 * NULL.  What has more devices than a node of a fleet, or a model too many, is added to
 * odd.  -EINVAL: no node is left; -ENOMEM. */
int clv_snapshot_add_nodes(struct clv_snapshot *snapshot, struct clv_fleet *fleet,
	struct clv_node_notes *notes, struct clv_snapshot_odd *odd,
	struct clv_error *err);

/* Takes what runs on the nodes, which must be those that clv_snapshot_add_nodes() added.
 * Where the snapshot does not say which devices are held, the first free ones are.  What
 * exceeds a node is not taken.  -EINVAL, -ENOMEM. */
int clv_snapshot_take_running(const struct clv_snapshot *snapshot,
	struct clv_fleet *fleet, struct clv_error *err);

/* Fills a list of the pods or jobs that wait, or of all that have not ended, by their
 * time.  clv_plan_trace_done() frees it.  What wants more devices of a node, or more
 * nodes, than a request can is added to odd.  -EINVAL: none is left; -ENOMEM. */
int clv_snapshot_read_trace(const struct clv_snapshot *snapshot,
	const struct clv_fleet *fleet, bool is_waiting_only, struct clv_plan_trace *ret,
	struct clv_snapshot_odd *odd, struct clv_error *err);

CLV_DEFINE_CLEANUP(struct clv_snapshot *, clv_snapshot_close)
#define _cleanup_snapshot_ CLV_CLEANUP(clv_snapshot_closep)
