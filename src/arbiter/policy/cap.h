/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CLV_CAP_PERIOD_NS UINT64_C(100000000)

/* The account of one lease's cap: a budget of cap x 100 ms a period of 100 ms.  What is
 * left at the end of a period is lost, what is overdrawn is owed from the next ones.
 * Plain data in its owner; time is an argument.  A cap of 0 is none: its account is never
 * overdrawn. */
struct clv_cap {
	uint32_t cap_ppm;
	int64_t budget_ns; /* what is left of this period's; overdraft is negative */
	uint64_t period_start_ns;
};

void clv_cap_init(struct clv_cap *cap, uint32_t cap_ppm, uint64_t now_ns);

/* Another cap from now on; what was used of the present budget stays used. */
void clv_cap_resize(struct clv_cap *cap, uint32_t cap_ppm, uint64_t now_ns);

/* Adds the budgets of the periods that have begun. */
void clv_cap_refill(struct clv_cap *cap, uint64_t now_ns);

/* So much of what was booked counts no longer; never more than a whole budget is left. */
void clv_cap_refund(struct clv_cap *cap, uint64_t ns);

/* Books held time that ended at now_ns. */
void clv_cap_charge(struct clv_cap *cap, uint64_t held_ns, uint64_t now_ns);

/* As of the last of the calls above. */
bool clv_cap_is_overdrawn(const struct clv_cap *cap);

/* When an overdrawn account will have a budget again; UINT64_MAX is never. */
uint64_t clv_cap_overdrawn_until_ns(const struct clv_cap *cap);
