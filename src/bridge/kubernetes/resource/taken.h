/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/desired.h"

#include <stdbool.h>
#include <stddef.h>

/* The ids of a resource that leases have.  Kubelet offers some of them again: those of a
 * container that has just ended, or, after it has lost its checkpoint, of one that still
 * runs.  The loop's thread only. */

struct clv_kube_taken_id {
	const char *key; /* interned */
	uint32_t number;
};

struct clv_kube_taken {
	const char *resource;          /* interned */
	struct clv_kube_taken_id *ids; /* owned */
	size_t n;
	bool is_short; /* out of memory: some are missing */
};

/* Adds the lease's units of the resource. */
void clv_kube_taken_add(
	struct clv_kube_taken *taken, const struct clv_kube_desired *desired);
/* To be called once all are added. */
void clv_kube_taken_sort(struct clv_kube_taken *taken);
void clv_kube_taken_clear(struct clv_kube_taken *taken);

/* As clv_kube_prefer(), but ids that leases have are chosen only where the others do not
 * suffice. */
size_t clv_kube_prefer_untaken(const struct clv_kube_resource *resource,
	const struct clv_kube_taken *taken, const char *const *available,
	size_t n_available, const char *const *must, size_t n_must, size_t n_wanted,
	const char *near, uint32_t *ret_indexes);
