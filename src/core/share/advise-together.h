/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/advise.h"

/* Sizes that fit together on one device.  Each lease's advice is made for that lease
 * alone; what several of them propose may be more than the device has. */

/* One lease of the device: what it has, and what is proposed for it, the same for a lease
 * without advice.  Both are borrowed. */
struct clv_advise_claim {
	const struct clv_advise_part *has;
	struct clv_advise_part *proposed;
};

/* Reduces what is proposed for the leases that would grow, each in proportion to its
 * growth, until all proposals together need no more than the leases have now and the free
 * part of the device.  Shares and memory are rounded down to the steps of advise.h, but
 * not below what a lease has. */
void clv_advise_fit_together(const struct clv_advise_claim *claims, size_t n,
	uint32_t free_ppm, uint64_t free_bytes);
