/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of the policy's decisions with many leases on one device and no kernels: each
 * lease is awake, each decision is one pick and one charge.  It makes the decisions and
 * prints how long they took.  Instructions are counted from outside, as the difference
 * between two runs of different length under valgrind, so that the start does not count.
 */
#include "random.h"

#include "arbiter/policy/policy.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static struct clv_policy *crowd_new(uint32_t n_leases)
{
	struct clv_policy *policy = clv_policy_new();

	if (!policy)
		return NULL;
	for (uint32_t i = 0; i < n_leases; i++) {
		struct clv_policy_params params = {
			.weight_ppm = 1000 + bench_random_below(20000),
			.class = (enum clv_class)(i % 3),
		};
		uint32_t lease;

		if (clv_policy_add(policy, &params, 0, &lease) < 0)
			return clv_policy_free(policy);
		clv_policy_wake(policy, lease, 0);
	}
	return policy;
}

int main(int argc, char **argv)
{
	uint32_t n_leases = argc == 3 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	uint64_t n_decisions = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t now_ns = 0, began_ns, took_ns;
	struct clv_policy *policy;

	if (n_leases == 0) {
		fprintf(stderr, "usage: policy-scale LEASES DECISIONS\n");
		return 64;
	}
	policy = crowd_new(n_leases);
	if (!policy) {
		fprintf(stderr, "policy-scale: out of memory\n");
		return 1;
	}

	began_ns = clv_clock_ns();
	for (uint64_t i = 0; i < n_decisions; i++) {
		struct clv_policy_decision d = clv_policy_pick(policy, now_ns);
		uint64_t held_ns = d.slice_ns + bench_random_below(100000);

		now_ns += held_ns;
		clv_policy_charge(policy, d.lease, held_ns, now_ns);
	}
	took_ns = clv_clock_ns() - began_ns;
	clv_policy_free(policy);

	printf("{\"leases\": %" PRIu32 ", \"decisions\": %" PRIu64
	       ", \"seconds\": %.6f}\n",
		n_leases, n_decisions, (double)took_ns / (double)CLV_NS_PER_S);
	return 0;
}
