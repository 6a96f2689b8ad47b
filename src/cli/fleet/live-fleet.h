/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

#include <jansson.h>

/* An agent's node as a fleet, with its current leases.  Either whole devices of one kind
 * form a node of the fleet, as do a device's partitions of one profile; or each GPU with
 * MIG is a node on which instances can be made.  Devices that take no new lease are left
 * out. */

#define CLV_LIVE_KINDS_MAX 32

/* The origin of one lease of the fleet.  Borrowed from the answers. */
struct clv_live_item {
	const json_t *lease;     /* NULL: none, or one that the caller does not see */
	const json_t *partition; /* a MIG instance; NULL: a share */
	bool is_movable;
};

/* A kind of devices, between which a lease may move; model is its name in the fleet. */
struct clv_live_kind {
	char model[8];
	const json_t *device; /* the first of them */
};

struct clv_live_fleet {
	struct clv_fleet *fleet;
	struct clv_live_item *items; /* by lease of the fleet */
	const char **names;          /* by device of the fleet */
	struct clv_live_kind kinds[CLV_LIVE_KINDS_MAX];
	unsigned n_kinds;
	size_t room;
	/* Answers of the agent, borrowed. */
	const json_t *devices, *leases, *node;
	const char *keep; /* names or ids of leases that stay, comma-separated; or NULL */
};

/* Fills the fleet from devices, leases and node.  With profile only partitions of that
 * profile count; with makes_instances only GPUs on which MIG instances can be made.
 * Returns 0, -ENOMEM, or -ENOSPC for too many kinds. */
int clv_live_read(struct clv_live_fleet *live, const char *profile, bool makes_instances);
void clv_live_done(struct clv_live_fleet *live);
