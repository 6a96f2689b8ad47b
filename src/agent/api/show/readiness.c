/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the agent can grant leases. */
#include "agent/api/show/readiness.h"

#include "agent/device/hardware.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"

struct clv_readiness clv_readiness(const struct clv_agent *agent)
{
	const struct clv_state *state = agent->state;
	bool is_whole = state->store && !state->is_copy && !state->is_stale;
	struct clv_readiness ready = {
		.state = is_whole && !clv_store_lacks_room(state->store),
		.devices =
			clv_hardware_last_survey(agent->hardware) >= agent->first_survey,
	};

	if (!is_whole)
		ready.why_not = state->problem;
	else if (!ready.state)
		ready.why_not = "the disk of the agent's state is full: free some space "
				"there";
	else if (!ready.devices)
		ready.why_not = "the drivers have not listed their devices yet: try "
				"again in a moment";
	return ready;
}
