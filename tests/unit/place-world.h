/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/fleet/fleet.h"
#include "core/place/place.h"

/* Small fleets and requests for the tests of placement. */

/* Returns a number below the limit; the same sequence in every run. */
uint32_t place_random(uint32_t limit);
void place_random_begin(uint64_t seed);

/* Ends the test if it fails. */
void place_add_nodes(
	struct clv_fleet *fleet, unsigned n, struct clv_fleet_node_spec spec);

/* Nodes of several sizes and models, some with known memory, some with MIG. */
struct clv_fleet *place_fleet_mixed(unsigned n_nodes);

/* Shares, one or several whole devices, profiles, processors alone; sometimes a model. */
struct clv_place_request place_random_request(const struct clv_fleet *fleet);

/* A workload of n random requests. */
struct clv_workload place_random_workload(const struct clv_fleet *fleet, unsigned n);
