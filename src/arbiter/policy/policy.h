/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who runs next on one device: EEVDF (earliest eligible virtual deadline first; Stoica
 * and Abdel-Wahab, 1995) over held time.  Pure: a function of its state and of the times
 * that the caller passes in; it reads no clock, starts nothing and logs nothing.  Not
 * thread-safe.
 *
 * Virtual time of a lease is service / share.  A lease is eligible when its virtual time
 * is not ahead of the weighted mean V of the runnable ones; among the eligible and
 * unthrottled the earliest virtual deadline (start of its request + slice / share) wins.
 * Lag is share x (clock - own virtual time): positive is credit, negative is debt.  The
 * clock is where V would be if nobody had come or gone; only credit that is given up for
 * good moves it besides service.
 *  - A lease that sleeps earns on, its part of what others are served, until it has one
 * slice of credit; it keeps that, and no more.  With a slice of credit its deadline is
 * due: whoever uses less than its share takes the device when it wakes from any holder
 * that has no credit, such as one that is always busy (unless a third has more).
 *  - Sleep gains nothing else: over any time a lease gets at most its part of it, one
 * slice, and one turn.  Claims never sum up to more than was served, so shares that sum
 * up to more than 1 starve nobody.
 *  - Debt is never forgiven by sleeping: it is paid, or runs down with the virtual time
 * that the others' service makes pass.  Time in which nobody runs changes nothing.
 *  - Nor by ending: what a lease owes when it is removed its tenant goes on owing, as if
 * the lease slept (unless the tenant is ""), and the tenant's next lease takes it over.
 * That one also takes its part, by weight, of what the tenant's other leases owe.
 *  - A cap is a budget of cap x 100 ms per 100 ms, kept even when nobody else runs; what
 * is overdrawn is owed from the next budgets. */

#define CLV_POLICY_NONE UINT32_MAX
#define CLV_POLICY_TENANT_MAX 256u

struct clv_policy;

/* What the policy needs to know of a lease. */
struct clv_policy_params {
	uint32_t weight_ppm; /* 1..1000000 */
	uint32_t cap_ppm;    /* 0: no cap */
	enum clv_class class;
	/* Whose debts are one account; NULL or "": the lease's own, which ends with it.
	 * An update leaves it as it is. */
	const char *tenant;
};

/* What one lease of a tenant owes, or one that was removed. */
struct clv_policy_debt {
	const char *tenant; /* borrowed: until the policy is called again */
	uint32_t weight_ppm;
	enum clv_class class;
	uint64_t debt_ns; /* of the device's time */
	bool is_gone;
};

struct clv_policy_decision {
	uint32_t lease;    /* handle, or CLV_POLICY_NONE */
	uint64_t slice_ns; /* how long its turn may last (bounded by its cap's budget) */
	uint64_t retry_at_ns; /* with NONE: when a throttled lease may run again; else
				 UINT64_MAX */
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

/* The lease has work / has none.  Idempotent. */
void clv_policy_wake(struct clv_policy *policy, uint32_t lease, uint64_t now_ns);
void clv_policy_sleep(struct clv_policy *policy, uint32_t lease, uint64_t now_ns);
bool clv_policy_is_awake(const struct clv_policy *policy, uint32_t lease);

/* Books held time; also legal for a sleeping lease (work that ran while closed: debt). */
void clv_policy_charge(
	struct clv_policy *policy, uint32_t lease, uint64_t held_ns, uint64_t now_ns);

/* So much of what was charged does not count against the cap. */
void clv_policy_refund_cap(struct clv_policy *policy, uint32_t lease, uint64_t ns);

/* Who should hold the device from now on.  Changes nothing that an immediate second call
 * would see, but may move leases between internal queues.  The present holder takes part
 * as any runnable lease, so charge it first. */
struct clv_policy_decision clv_policy_pick(struct clv_policy *policy, uint64_t now_ns);

/* Whether `waker`, runnable, eligible and unthrottled, should take the device from
 * `holder` now: its virtual deadline is earlier.  The caller enforces minimum
 * turns. */
bool clv_policy_preempts(
	struct clv_policy *policy, uint32_t waker, uint32_t holder, uint64_t now_ns);

/* Credit (+) or debt (-) in device nanoseconds. */
int64_t clv_policy_lag_ns(const struct clv_policy *policy, uint32_t lease);

/* The debts of all tenants, in no order; *at is 0 at first.  False: there are no more. */
bool clv_policy_next_debt(
	const struct clv_policy *policy, uint32_t *at, struct clv_policy_debt *ret);

/* As if a lease that owes had been removed: what was kept elsewhere is back.  Returns 0
 * or -ENOMEM. */
int clv_policy_owe(struct clv_policy *policy, const struct clv_policy_debt *debt);

/* Requests of the classes normal and batch are so much longer from now on; at first 100.
 */
void clv_policy_stretch(struct clv_policy *policy, uint32_t percent);
uint64_t clv_policy_request_ns(const struct clv_policy *policy, enum clv_class class);

/* Whether its cap keeps it from running now. */
bool clv_policy_is_throttled(struct clv_policy *policy, uint32_t lease, uint64_t now_ns);

/* The request of a class, not stretched: 1, 8, 16 ms. */
uint64_t clv_policy_slice_ns(enum clv_class class);
