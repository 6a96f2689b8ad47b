/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

struct clv_agent;

/* Maps the node as the drivers show it to the agent's devices.  A partition is a device
 * of its own for its leases.  Loop thread only. */

/* Adds new devices and partitions, and marks those that are gone as not present. */
void clv_partitions_take_node(struct clv_agent *agent, const struct clv_node *node);
