/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"

/* The fragmentation measure: for each shape of the workload, what is free on devices that
 * cannot take it, weighted by how often the shape comes ("Beware of Fragmentation",
 * USENIX ATC'23), with the memory of devices as a second dimension besides compute.
 * Amounts are integers, thousandths of a device times weight, so that sums do not depend
 * on their order.
 *
 * The measure is read from tables: a row for each model and each number of processors at
 * which another shape fits, a level for each amount of free compute and memory at which
 * another shape fits.  Immutable once created; any number of threads may read it. */
struct clv_frag;

/* NULL if out of memory.  Devices of models that the fleet gets later count as
 * stranded. */
struct clv_frag *clv_frag_new(
	const struct clv_fleet *fleet, const struct clv_workload *workload);
struct clv_frag *clv_frag_free(struct clv_frag *frag);

/* Weight of the whole workload: what a thousandth of a device counts that no shape can
 * use.  At least 1. */
int64_t clv_frag_weight(const struct clv_frag *frag);

/* The measure of the current state of a node. */
int64_t clv_frag_node(const struct clv_frag *frag, const struct clv_fleet *fleet,
	const struct clv_fleet_node *node);
/* The sum over all nodes that are not lost, in devices, for users. */
double clv_frag_fleet(const struct clv_frag *frag, const struct clv_fleet *fleet);

/* An upper bound of the gain of a request on any node of these models (a bitmap; 0: all)
 * that it fits, with at least cpu_milli free, where each fitting device has at least
 * least_milli free. */
int64_t clv_frag_most(const struct clv_frag *frag, const struct clv_fleet *fleet,
	const struct clv_place_request *request, uint64_t models, uint32_t cpu_milli,
	uint32_t least_milli);

/* A place on a node, and by how much the measure falls if a request is placed there. */
struct clv_frag_option {
	int64_t gain;
	uint64_t devices; /* bitmap */
	uint8_t start;    /* of a profile */
};

#define CLV_FRAG_OPTIONS_MAX 128

/* Lists the places on a node for a request that fits it, in the order of its devices; of
 * equivalent places only the first.  Returns their number, at least 1. */
unsigned clv_frag_options(const struct clv_frag *frag, const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	struct clv_frag_option options[CLV_FRAG_OPTIONS_MAX]);
