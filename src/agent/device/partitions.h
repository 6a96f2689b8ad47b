/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

struct clv_agent;

/* Between the node as drivers show it and the devices that leases are on: a partition is
 * a device of its own to whoever gets it.  Loop thread only. */

/* Devices and partitions that are new become known, those that are gone are marked so. */
void clv_partitions_take_node(struct clv_agent *agent, const struct clv_node *node);
