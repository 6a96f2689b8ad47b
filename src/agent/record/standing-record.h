/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/plan/plan.h"
#include "core/share/share.h"

/* A standing share: a share of a device that a layout sets aside for one lease at a time.
 */
struct clv_standing_share {
	char name[sizeof(((struct clv_plan_share *)NULL)->name)];
	char device_uuid[96];
	struct clv_share share; /* without defaults to be filled in */
};
