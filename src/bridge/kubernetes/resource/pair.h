/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/desired.h"

#include <stdbool.h>
#include <stdint.h>

struct clv_error;

#define CLV_KUBE_PAIRS_MAX 1024u

/* The leases of a share and of memory that are one, by the hashes in their names. */
struct clv_kube_paired {
	uint64_t share, memory, memory_bytes;
};

/* Pairs kubelet's two Allocate calls for a container with a share and memory, which have
 * only ids and not the container.  Kubelet admits one container after the other, so the
 * two calls are consecutive: the first is kept here until the second comes.
 * PreStartContainer verifies the pairing with kubelet's pod-resources API, which does not
 * have init containers: for these the last pairs are remembered.  Pure. */
struct clv_kube_pair {
	struct clv_kube_desired first;
	bool has_first, is_memory; /* of the first */
	struct clv_kube_paired last[CLV_KUBE_PAIRS_MAX];
	size_t n; /* pairs so far; the latest is last[(n - 1) % CLV_KUBE_PAIRS_MAX] */
};

/* Returns 1 if desired completes a pair: *ret is the lease of both, to be cleared by the
 * caller; 0 if desired is the first of two and was kept; -EBUSY if the two are on
 * different devices. Ownership of desired is taken in all cases. */
int clv_kube_pair_take(struct clv_kube_pair *pair, struct clv_kube_desired *desired,
	bool is_memory, struct clv_kube_desired *ret, struct clv_error *err);

/* Whether the lease, of ids of a share or of memory alone, was paired; a share gets the
 * memory of its latest pair. */
bool clv_kube_pair_recall(const struct clv_kube_pair *pair,
	struct clv_kube_desired *desired, bool is_memory);

/* The device of the first call, which the second one should prefer, or NULL.  Borrowed.
 */
const char *clv_kube_pair_device(const struct clv_kube_pair *pair, bool is_memory);

void clv_kube_pair_clear(struct clv_kube_pair *pair);
