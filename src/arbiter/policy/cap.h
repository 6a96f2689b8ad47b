/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CLV_CAP_PERIOD_NS UINT64_C(100000000)

/* For how many periods the budgets of a lease in line are kept: a second, for which the
 * arbiter lets another lease's kernel delay it. */
#define CLV_CAP_KEPT_PERIODS 10

/* The account of one lease's cap: a budget of cap x 100 ms per period of 100 ms.  What is
 * left at the end of a period is lost, unless the lease has work: then it waits for other
 * leases, and could never use its part of a kernel that is longer than a period.  An
 * overdraft is deducted from the next budgets.  Plain data embedded in its owner; time is
 * an argument.  A cap of 0 means no cap: its account is never overdrawn. */
struct clv_cap {
	uint32_t cap_ppm;
	int64_t budget_ns; /* left of this period's budget; negative: overdrawn */
	uint64_t period_start_ns;
};

void clv_cap_init(struct clv_cap *cap, uint32_t cap_ppm, uint64_t now_ns);

/* Changes the cap.  What was used of the present budget stays used. */
void clv_cap_resize(
	struct clv_cap *cap, uint32_t cap_ppm, bool has_work, uint64_t now_ns);

/* Adds the budgets of the periods that have begun since the last call, in all of which
 * the lease had work or in all of which it had none. */
void clv_cap_refill(struct clv_cap *cap, bool has_work, uint64_t now_ns);

/* Drops what is left beyond a period's budget and due_ns, the time that other leases owe
 * this one: only with a credit does it use budgets of earlier periods. */
void clv_cap_limit(struct clv_cap *cap, int64_t due_ns);

/* Credits ns back to the budget, up to a whole period's budget. */
void clv_cap_refund(struct clv_cap *cap, uint64_t ns);

/* Charges held time that ended at now_ns. */
void clv_cap_charge(
	struct clv_cap *cap, uint64_t held_ns, bool has_work, uint64_t now_ns);

/* As of the last of the calls above. */
bool clv_cap_is_overdrawn(const struct clv_cap *cap);

/* When an overdrawn account will have a budget again; UINT64_MAX: never. */
uint64_t clv_cap_overdrawn_until_ns(const struct clv_cap *cap);
