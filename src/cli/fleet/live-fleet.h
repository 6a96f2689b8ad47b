/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"

#include <jansson.h>

/* An agent's node as a fleet: what is on its devices now, from what the API says.  Whole
 * devices that are alike are the devices of one node of the fleet; so are a device's
 * partitions of one profile; a GPU whose MIG is on is, beside that, a node on which
 * instances are made.  Devices that take no new lease are left out. */

#define CLV_LIVE_KINDS_MAX 32

/* What one lease of the fleet is.  Borrowed from the answers. */
struct clv_live_item {
	const json_t *lease;     /* NULL: nobody's, or more than one can see */
	const json_t *partition; /* an instance of MIG; NULL: a share */
	bool is_movable;
};

/* Devices that a lease may move between: its memory, and what it is called as a model. */
struct clv_live_kind {
	char model[8];
	const json_t *device; /* the first of them */
};

struct clv_live {
	struct clv_fleet *fleet;
	struct clv_live_item *items; /* by lease of the fleet */
	const char **names;          /* by device of the fleet */
	struct clv_live_kind kinds[CLV_LIVE_KINDS_MAX];
	unsigned n_kinds;
	size_t room;
	/* Answers of the agent, borrowed. */
	const json_t *devices, *leases, *node;
	const char *keep; /* names of leases that stay, commas between; or NULL */
};

/* Fills the fleet from devices, leases and node.  profile: that of the partitions that
 * count, or NULL for whole devices and all partitions; makes_instances: instead, GPUs on
 * which MIG instances can be made.  0 or -ENOMEM, -ENOSPC: too many kinds. */
int clv_live_read(struct clv_live *live, const char *profile, bool makes_instances);
void clv_live_done(struct clv_live *live);
