/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/plan/plan.h"
#include "core/share/share.h"

/* A part of a device that a layout sets aside for leases by name. */
struct clv_standing_share {
	char name[sizeof(((struct clv_plan_share *)NULL)->name)];
	char device_uuid[96];
	struct clv_share share; /* complete */
};
