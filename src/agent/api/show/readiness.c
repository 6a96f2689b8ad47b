/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the agent can grant leases. */
#include "agent/api/show/readiness.h"

#include "agent/device/hardware.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"

struct clv_readiness clv_readiness(const struct clv_agent *agent)
{
	struct clv_readiness ready = {
		.state = agent->state->store && !agent->state->is_stale,
		.devices =
			clv_hardware_last_survey(agent->hardware) >= agent->first_survey,
	};

	if (!ready.state)
		ready.why_not = agent->state->problem;
	else if (!ready.devices)
		ready.why_not = "the drivers have not listed their devices yet: try "
				"again in a moment";
	return ready;
}
