/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/admission.h"

struct clv_agent;
struct clv_agent_device;
struct clv_lease;

/* Sums the promises of a device: those of its active leases except `without` (may be
 * NULL), and its standing shares that no lease has, except the one named `standing` (may
 * be ""). */
void clv_promises_add_up(const struct clv_agent *agent,
	const struct clv_agent_device *device, const struct clv_lease *without,
	const char *standing, struct clv_promised *ret);
