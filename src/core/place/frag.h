/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"

/* How much of a node is stranded: for each typical shape of the workload, what is free on
 * devices that could not take it, weighted by how often it comes ("Beware of
 * Fragmentation", USENIX ATC'23), with the devices' memory as a second dimension beside
 * compute.  Amounts are thousandths of a device times weight, whole numbers, so that sums
 * do not depend on their order.
 *
 * It is read from tables: a row for each model and each number of processors at which
 * another shape fits, a level for each amount of free compute and memory at which another
 * does.  Immutable once made; any number of threads may read it. */
struct clv_frag;

/* NULL without memory.  Models that the fleet gets later strand what they have. */
struct clv_frag *clv_frag_new(
	const struct clv_fleet *fleet, const struct clv_workload *workload);
struct clv_frag *clv_frag_free(struct clv_frag *frag);

/* Of the whole workload: what a thousandth counts that nobody can use.  At least 1. */
int64_t clv_frag_weight(const struct clv_frag *frag);

/* Of the node as it is. */
int64_t clv_frag_node(const struct clv_frag *frag, const struct clv_fleet *fleet,
	const struct clv_fleet_node *node);
/* All nodes that are not lost; in devices, for people. */
double clv_frag_fleet(const struct clv_frag *frag, const struct clv_fleet *fleet);

/* A place on a node, and how much less would be stranded were a request put there. */
struct clv_frag_option {
	int64_t gain;
	uint64_t devices; /* bits */
	uint8_t start;    /* of a profile */
};

#define CLV_FRAG_OPTIONS_MAX 128

/* The places on a node where the request, which must fit, could go, in the order of its
 * devices; of places that are alike the first one alone.  How many: at least one. */
unsigned clv_frag_options(const struct clv_frag *frag, const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	struct clv_frag_option options[CLV_FRAG_OPTIONS_MAX]);
