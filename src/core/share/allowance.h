/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* What one tenant may have at a time, over all devices, and whether one lease more is in
 * it.  Pure. */

#define CLV_ALLOWANCE_PROFILES 16u

struct clv_allowance {
	uint64_t compute_ppm;  /* in parts of devices: 2,500,000 is two and a half; 0: any
				*/
	uint64_t memory_bytes; /* 0: any */
	uint32_t leases;       /* 0: any number */
	uint32_t classes;      /* bits by enum clv_class; 0: any */
	char profiles[CLV_ALLOWANCE_PROFILES][40]; /* of partitions */
	uint32_t n_profiles;                       /* 0: any */
};

/* What a tenant has, without what waits. */
struct clv_allowance_use {
	uint64_t compute_ppm, memory_bytes;
	uint32_t leases;
};

/* profile: of the partition that it is for, or "".  -EPERM: never (a class or a profile
 * that he may not have, more than all of it); -EBUSY: not beside what he has. */
int clv_allowance_check(const struct clv_allowance *allowance,
	const struct clv_allowance_use *use, const struct clv_share *wanted,
	const char *profile, struct clv_error *err);
