/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/lease/lease.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_agent;

/* The processes of leases, whether they are attached or not: the leases' holders, the
 * attached ones, and all that these start.  Which root file system, namespaces and
 * environment they have does not matter: children are known by their parents.  Who leaves
 * the tree within a second, by a double fork that nobody collects (`cleave run` does), is
 * lost.  Loop thread only. */
struct clv_descendant {
	struct clv_process_id id;
	char lease[CLV_LEASE_ID_MAX];
	uint32_t attached_s; /* the last tick at which it was attached to any lease */
	/* The rest is for who looks at it, and is zero at first. */
	uint32_t due_s, interval_s;
	uint64_t vm_bytes;
	uint32_t doubts;
	uint64_t ended_ns;
};

struct clv_descendants {
	struct clv_agent *agent;
	struct clv_descendant *items; /* owned */
	size_t n, last_found;
	int *pids; /* owned: all processes of the last tick, in ascending order */
	size_t n_pids;
};

void clv_descendants_done(struct clv_descendants *descendants);

/* Once a second, now_s one more each time: takes in who is new. */
void clv_descendants_tick(struct clv_descendants *descendants, uint32_t now_s);

/* The children that it has by now, of whatever age. */
void clv_descendants_add_children(struct clv_descendants *descendants, size_t at);

/* It is gone; the last one takes its place. */
void clv_descendants_remove(struct clv_descendants *descendants, size_t at);
