/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* Bounds on what one tenant may have at a time over all devices, and the check of one
 * more lease.  Pure. */

#define CLV_ALLOWANCE_PROFILES 16u

struct clv_allowance {
	/* summed over devices: 2,500,000 is two and a half; 0: no bound */
	uint64_t compute_ppm;
	uint64_t memory_bytes;                     /* 0: no bound */
	uint32_t leases;                           /* 0: no bound */
	uint32_t classes;                          /* bits by enum clv_class; 0: any */
	char profiles[CLV_ALLOWANCE_PROFILES][40]; /* of partitions */
	uint32_t n_profiles;                       /* 0: no bound */
};

/* What a tenant has, without requests that wait. */
struct clv_allowance_use {
	uint64_t compute_ppm, memory_bytes;
	uint32_t leases;
};

/* profile: of the requested partition, or "".  -EPERM: never possible (a class or profile
 * that is not allowed, or more than the whole allowance); -EBUSY: not in addition to what
 * the tenant has. */
int clv_allowance_check(const struct clv_allowance *allowance,
	const struct clv_allowance_use *use, const struct clv_share *wanted,
	const char *profile, struct clv_error *err);
