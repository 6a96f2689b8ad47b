/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/admission.h"

struct clv_agent;
struct clv_agent_device;
struct clv_lease;

/* What active leases have been promised on a device, without one of them (may be NULL),
 * and what is set aside in standing shares, but for one (may be ""). */
void clv_promises_add_up(const struct clv_agent *agent,
	const struct clv_agent_device *device, const struct clv_lease *without,
	const char *standing, struct clv_promised *ret);
