/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/resource.h"

struct clv_error;

/* What ids stand for: a lease, whose name follows from the ids.  So the ledger can be
 * compared with what kubelet says at any time, with nothing kept on the side.  Pure. */

#define CLV_KUBE_LEASE_PREFIX "k8s-"
#define CLV_KUBE_LEASE_MAX 48
#define CLV_KUBE_DEVICES_MAX 4096 /* names with commas between them */

/* Some units of one source, or of what comes one at a time: a number made of each key.
 * There are many of these and few texts in them, so that the texts are there once, for
 * good. */
struct clv_kube_units {
	const char *resource, *key; /* NULL: no units */
	uint32_t *numbers;          /* ascending */
	size_t n;
};

struct clv_kube_want {
	char lease[CLV_KUBE_LEASE_MAX];
	uint64_t number; /* of the name: what differs in it differs in that */
	/* No two leases that live have a unit in common. */
	struct clv_kube_units units;
	struct clv_kube_units
		memory; /* of a share that has memory of its own; else none */
	/* "": it is not there at present; "gpu0,gpu2": several.  Once, as those. */
	const char *device;
	uint32_t share_ppm;    /* 0: what the memory is of the device */
	uint64_t memory_bytes; /* 0: the share of the device's */
};

/* The text, as it stays.  The loop's thread alone. */
const char *clv_kube_keep_text(const char *text);

/* -EINVAL: no such ids, or units of several devices; the message is for who wrote the
 * pod. */
int clv_kube_want_make(const struct clv_kube_resource *resource, const char *const *ids,
	size_t n_ids, struct clv_kube_want *ret, struct clv_error *err);
/* The same of ids that may be of devices that are not there at present: then device is
 * "", and nothing but the lease's name is known. */
int clv_kube_want_know(const struct clv_kube_resource *resource, const char *const *ids,
	size_t n_ids, struct clv_kube_want *ret, struct clv_error *err);
/* One lease of a want of shares and one of memory, whose units are taken over. */
int clv_kube_want_join(
	struct clv_kube_want *share, struct clv_kube_want *memory, struct clv_error *err);
/* A copy of its own; -ENOMEM. */
int clv_kube_want_copy(const struct clv_kube_want *want, struct clv_kube_want *ret);
void clv_kube_want_clear(struct clv_kube_want *want);

/* Whether they have a unit in common. */
bool clv_kube_want_overlaps(const struct clv_kube_want *a, const struct clv_kube_want *b);

/* Which of the ids a container should get: of shares and memory units of the device that
 * core/place chooses, partitions of devices that are in use already.  Stores indexes of
 * available, at most n_wanted, and returns how many.  near: a device that is to be
 * preferred, or NULL. */
size_t clv_kube_prefer(const struct clv_kube_resource *resource,
	const char *const *available, size_t n_available, const char *const *must,
	size_t n_must, size_t n_wanted, const char *near, uint32_t *ret_indexes);
