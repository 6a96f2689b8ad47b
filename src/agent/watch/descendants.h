/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/lease/lease.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_agent;

/* The processes of leases, attached or not: the leases' holders, the attached processes
 * and the descendants of both.  Children are found by their parents' pids, so root file
 * system, namespaces and environment do not matter.  A process that a double fork
 * reparents outside of the lease within a second is missed; below `cleave run`, a
 * subreaper, it is not.  Loop thread only. */

/* The limit of processes for each lease, so that no lease displaces those of another.
 * struct clv_lease_observed counts them, and says whether there are more. */
#define CLV_DESCENDANTS_OF_LEASE 1024u

struct clv_descendant {
	struct clv_process_id id;
	char lease[CLV_LEASE_ID_MAX];
	uint32_t next; /* the next item with the same hash, plus 1; 0: none */
	/* now_s of the last tick at which it was attached to any lease */
	uint32_t attached_s;
	/* The other fields belong to the caller (agent/watch/ungated.c); they begin as
	 * 0. */
	uint32_t looked_s, due_s, interval_s;
	uint64_t vm_bytes;
	uint32_t doubts;
	uint64_t ended_ns;
};

struct clv_descendants {
	struct clv_agent *agent;
	struct clv_descendant *items; /* owned */
	size_t n;
	uint32_t heads[4096]; /* by a hash of the pid: the first item, plus 1; 0: none */
	/* All processes of the machine when they were listed, ascending; owned. */
	int *pids;
	size_t n_pids;
	pid_t newest; /* clv_process_newest() before that; 0: not known */
	uint32_t listed_s;
};

void clv_descendants_done(struct clv_descendants *descendants);

/* Adds new descendants.  Call once a second with now_s one larger each time. */
void clv_descendants_tick(struct clv_descendants *descendants, uint32_t now_s);

/* Adds all children of the item at index `at`, also those that are not new. */
void clv_descendants_add_children(struct clv_descendants *descendants, size_t at);

/* Removes the item at index `at`; the last item moves there. */
void clv_descendants_remove(struct clv_descendants *descendants, size_t at);
