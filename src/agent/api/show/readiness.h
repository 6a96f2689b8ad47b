/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct clv_agent;

/* What leases need: the state file can be written, and the drivers have answered. */
struct clv_readiness {
	bool state;
	bool devices;
};
struct clv_readiness clv_readiness(const struct clv_agent *agent);

static inline bool clv_readiness_is_whole(const struct clv_readiness *readiness)
{
	return readiness->state && readiness->devices;
}
