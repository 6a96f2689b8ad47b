/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_agent;

/* What granting leases needs: the state file can be written (state), and the drivers have
 * answered (devices). */
struct clv_readiness {
	bool state;
	bool devices;
	const char *why_not; /* NULL: both; owned by the agent */
};
struct clv_readiness clv_readiness(const struct clv_agent *agent);

static inline bool clv_readiness_is_whole(const struct clv_readiness *readiness)
{
	return readiness->state && readiness->devices;
}
