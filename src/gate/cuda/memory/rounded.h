/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* The device memory that an allocation of n_bytes takes: what drivers since 500 take from
 * the device, as measured by cuMemGetInfo: pages of 2 MiB above a mebibyte, one page of a
 * mebibyte above half of that.  Smaller allocations share pages, in steps of at least 512
 * bytes; what such pages take beyond that, the agent sees. */
static inline uint64_t clv_cuda_rounded_bytes(uint64_t n_bytes)
{
	const uint64_t mib = UINT64_C(1) << 20;
	uint64_t unit = n_bytes > mib ? 2 * mib : n_bytes > mib / 2 ? mib : 512;

	return n_bytes > UINT64_MAX - unit ? n_bytes : (n_bytes + unit - 1) / unit * unit;
}
