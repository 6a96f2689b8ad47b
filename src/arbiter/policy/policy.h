/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decides which lease runs next on one device: EEVDF (earliest eligible virtual deadline
 * first; Stoica and Abdel-Wahab, 1995) over held time.  Pure: a function of its state and
 * of the times that the caller passes in; it reads no clock, starts no thread and logs
 * nothing.  Not thread-safe.
 *
 * Virtual time of a lease is service / share.  A lease is eligible when its virtual time
 * is not ahead of the weighted mean V of the runnable ones; among the eligible and
 * unthrottled the earliest virtual deadline (start of its request + slice / share) wins.
 * Lag is share x (clock - own virtual time): positive is credit, negative is debt.  The
 * clock is where V would be if no lease had ever joined or left; besides service only
 * credit that is given up for good moves it.
 *  - A sleeping lease earns its part of what others are served until it has its
 *    savings (eevdf.c), and no more.  A lease with its savings that uses less than
 *    its share takes the device when it wakes from any holder that has no credit,
 *    such as one that is always busy (unless a third has more).
 *  - Sleep gains nothing else: over any time a lease gets at most its part of it, its
 *    savings (its part of 2 ms; 20 ms in the latency class, twenty of its slices), one
 *    turn, and its part of the turns that it waits through meanwhile
 *    (tests/unit/test-policy-sim.c has the bound).  Claims never sum up to more than
 *    was served, so shares that sum up to more than 1 starve no lease.
 *  - Debt is never forgiven by sleeping: it is paid, or declines with the virtual
 *    time that the others' service makes pass.  Time in which no lease runs changes
 *    nothing.
 *  - Nor by ending: a removed lease's debt stays with its tenant, as if the lease
 *    slept (unless the tenant is ""), and the tenant's next lease takes it over.
 *    That lease also takes its part, by weight, of the debts of the tenant's other
 *    leases.
 *  - A cap is a budget of cap x 100 ms per 100 ms, kept even when no other lease
 *    runs; an overdraft is deducted from the next budgets.  A lease with work keeps
 *    what is left of its budgets, up to those of a second, and uses more than one of
 *    them only for time that is due to it (cap.h). */

#define CLV_POLICY_NONE UINT32_MAX
#define CLV_POLICY_TENANT_MAX 256u

struct clv_policy;

/* The policy's parameters of a lease. */
struct clv_policy_params {
	uint32_t weight_ppm; /* 1..1000000 */
	uint32_t cap_ppm;    /* 0: no cap */
	enum clv_class class;
	/* The leases of one tenant share one account of debts; NULL or "": an account of
	 * the lease alone, which ends with it.  clv_policy_update() ignores it. */
	const char *tenant;
};

/* The debt of a lease, or of a removed lease. */
struct clv_policy_debt {
	/* Borrowed, until the next call of the policy. */
	const char *tenant;
	uint32_t weight_ppm;
	enum clv_class class;
	uint64_t debt_ns; /* in held time */
	/* The lease was removed. */
	bool is_gone;
};

struct clv_policy_decision {
	uint32_t lease; /* handle, or CLV_POLICY_NONE */
	/* How long the turn may last (bounded by the budget of the lease's cap). */
	uint64_t slice_ns;
	/* With NONE: when a throttled lease may run again; else UINT64_MAX. */
	uint64_t retry_at_ns;
};

struct clv_policy *clv_policy_new(void);
struct clv_policy *clv_policy_free(struct clv_policy *policy);

/* Adds a sleeping lease.  Returns 0 and its handle (small, reused after removal), or
 * -ENOMEM. */
int clv_policy_add(struct clv_policy *policy, const struct clv_policy_params *params,
	uint64_t now_ns, uint32_t *ret_lease);
void clv_policy_remove(struct clv_policy *policy, uint32_t lease, uint64_t now_ns);

/* New weight, cap or class; lag in time and debt are kept. */
void clv_policy_update(struct clv_policy *policy, uint32_t lease,
	const struct clv_policy_params *params, uint64_t now_ns);

/* Tells that the lease has work, or has none.  Idempotent. */
void clv_policy_wake(struct clv_policy *policy, uint32_t lease, uint64_t now_ns);
void clv_policy_sleep(struct clv_policy *policy, uint32_t lease, uint64_t now_ns);
bool clv_policy_is_awake(const struct clv_policy *policy, uint32_t lease);

/* Charges held time.  Also legal for a sleeping lease (work that ran while the gate was
 * closed), which then owes it. */
void clv_policy_charge(
	struct clv_policy *policy, uint32_t lease, uint64_t held_ns, uint64_t now_ns);

/* Excludes ns of the charged time from the cap's account. */
void clv_policy_refund_cap(struct clv_policy *policy, uint32_t lease, uint64_t ns);

/* Decides which lease should hold the device from now on.  An immediate second call
 * returns the same; the call may move leases between internal queues.  The present holder
 * competes like any runnable lease, so charge it first. */
struct clv_policy_decision clv_policy_pick(struct clv_policy *policy, uint64_t now_ns);

/* Whether `waker`, runnable, eligible and unthrottled, should take the device from
 * `holder` now: its virtual deadline is earlier.  The caller enforces minimum
 * turns. */
bool clv_policy_preempts(
	struct clv_policy *policy, uint32_t waker, uint32_t holder, uint64_t now_ns);

/* Credit (+) or debt (-) in device nanoseconds. */
int64_t clv_policy_lag_ns(const struct clv_policy *policy, uint32_t lease);

/* Iterates over the debts of all tenants, in no particular order; *at must be 0 at first.
 * Returns false at the end. */
bool clv_policy_next_debt(
	const struct clv_policy *policy, uint32_t *at, struct clv_policy_debt *ret);

/* Restores a debt that was saved elsewhere, as if a lease with that debt had been
 * removed.  Returns 0 or -ENOMEM. */
int clv_policy_restore_debt(
	struct clv_policy *policy, const struct clv_policy_debt *debt);

/* Sets the length of the requests of the classes normal and batch, in percent of their
 * usual length; initially 100.  Longer ones that were made before are cut. */
void clv_policy_stretch(struct clv_policy *policy, uint32_t percent);
/* The present length of a class's requests. */
uint64_t clv_policy_request_ns(const struct clv_policy *policy, enum clv_class class);

/* Whether the lease's cap keeps it from running now. */
bool clv_policy_is_throttled(struct clv_policy *policy, uint32_t lease, uint64_t now_ns);

/* The request of a class, without stretching: 1, 8, 16 ms. */
uint64_t clv_policy_slice_ns(enum clv_class class);
