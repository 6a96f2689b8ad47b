/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "arbiter/policy/policy.h"
#include "base/clock.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

/* A device and its tenants under simulated time, for tests of the policy. Tenants are
 * programs: kernels that run to their end regardless of the slice, bursts and naps. The
 * tenants' own ledgers count their held time; a wrong choice, or none while a tenant
 * could run, ends the test. */
#define MAX_TENANTS 16
#define MIN_TURN_NS (500 * CLV_NS_PER_US)
#define SAVINGS_NS 2e6
#define LATENCY_SAVINGS_NS 20e6
#define UNRIVALLED_SLICES 4
#define FOREVER UINT64_MAX

struct tenant {
	uint32_t lease;
	struct clv_policy_params params;
	uint64_t max_kernel_ns, min_kernel_ns;
	/* In place of these, for a tenant that never sleeps: kernels of so many lengths
	 * in random order, with as much time in each. */
	const uint64_t *kernels_ns;
	int n_kernels;
	uint64_t max_burst_ns, max_nap_ns; /* bursts of FOREVER: always busy */
	uint64_t min_burst_ns, min_nap_ns;
	uint64_t burst_ns; /* the rest of the current one */
	uint64_t wake_at_ns;
	bool asleep;
	uint64_t ready_since_ns; /* runnable since then, without a turn */
	uint64_t held_ns;
	/* Wake-ups beside a holder that is always busy, and how many of them preempted
	 * it. */
	uint64_t n_wakes, n_taken;
	/* Since its arrival or resize, compared with the first tenant. */
	double gain, least_gain;
	double over_cap_ns, least_over_cap_ns;
};

struct world {
	const char *name;
	uint64_t seed;
	struct clv_policy *policy;
	struct tenant tenants[MAX_TENANTS];
	int n_tenants;
	uint64_t now_ns, busy_ns;
	bool lump; /* the caller charges a turn at its end, not at every event */
	uint64_t n_turns, n_preemptions, n_idle;
};

struct totals {
	double share, overruns, savings, longest_turn;
};

/* The same sequence for the same seed. */
uint64_t random_below(uint64_t limit);

/* On a logarithmic scale. */
uint64_t random_log(uint64_t least, uint64_t most);

void world_init(struct world *w, const char *name, uint64_t seed);
void world_done(struct world *w);
void __attribute__((format(printf, 2, 3), noreturn))
world_fail(const struct world *w, const char *format, ...);

/* Adds a tenant like this one, asleep until like->wake_at_ns. */
struct tenant *world_add(struct world *w, const struct tenant *like);
void world_remove(struct world *w, struct tenant *t);

/* One decision and the turn that follows. Returns the tenant that ran and how long it had
 * waited, or NULL: none was runnable, and time has passed. */
struct tenant *world_step(struct world *w, uint64_t *ret_waited_ns);

struct totals world_totals(const struct world *w);
double tenant_share(const struct tenant *t);
double tenant_longest_turn(const struct tenant *t);
double tenant_overrun(const struct tenant *t);
uint64_t tenant_slice(const struct tenant *t);

/* Includes the rest of the request before, if that is too short for a turn of its own. */
double tenant_longest_request(const struct tenant *t);
double tenant_savings(const struct tenant *t);
