/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/watch/sightings.h"

/* Work that bypasses a gate: where a driver reports how much each process computes, a
 * lease that computes for longer than its turns bypasses its gate.  Loop thread only. */

/* After a reading that tells it of the lease's device. */
void clv_past_gate_look(struct clv_lease *lease, const struct clv_sightings_total *total,
	struct clv_sightings *sightings);

/* Nothing is known of the lease any more. */
void clv_past_gate_forget(struct clv_lease *lease);
