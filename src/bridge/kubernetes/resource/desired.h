/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/resource.h"

struct clv_error;

/* The lease that ids stand for.  Its name is a hash of the ids, so that the ledger can be
 * compared with kubelet's lists without a stored state.  Pure. */

#define CLV_KUBE_LEASE_PREFIX "k8s-"
#define CLV_KUBE_LEASE_MAX 48
#define CLV_KUBE_DEVICES_MAX 4096 /* bytes of a list of names with commas */

/* Units of one source, or, for CLV_KUBE_OF_ONE, a checksum of each id.  There are many of
 * these with few different texts, so the texts are interned and never freed. */
struct clv_kube_units {
	const char *resource, *key; /* interned; NULL: no units */
	uint32_t *numbers;          /* owned; sorted, unique */
	size_t n;
};

#define CLV_KUBE_CLASS_MAX 16

/* What a claim's configuration adds to its lease; 0 and "": the agent's default. */
struct clv_kube_lease_options {
	char class_name[CLV_KUBE_CLASS_MAX];
	uint32_t cap_ppm;
	uint32_t share_most_ppm; /* upper bound of the range in which the share moves */
	uint32_t sm_ppm;
	uint64_t spill_bytes;
};

/* The lease that a container or a claim is to have. */
struct clv_kube_desired {
	char lease[CLV_KUBE_LEASE_MAX];
	uint64_t number; /* the hash in the lease's name */
	/* A unit belongs to at most one existing lease. */
	struct clv_kube_units units;
	struct clv_kube_units memory; /* of a share with requested memory; else none */
	/* Interned.  "": the device does not exist now; "gpu0,gpu2": several devices. */
	const char *device;
	uint32_t share_ppm;    /* 0: in proportion to the memory */
	uint64_t memory_bytes; /* 0: in proportion to the share */
	/* Borrowed, of a new lease; NULL: none.  A copy has none. */
	const struct clv_kube_lease_options *options;
};

/* Interns the text.  NULL: out of memory.  The loop's thread only. */
const char *clv_kube_intern(const char *text);

/* Makes the lease of the ids.  -EINVAL: malformed ids, or units of several devices;
 * -ENODEV: the device does not exist now.  The message is for the author of the pod. */
int clv_kube_desired_make(const struct clv_kube_resource *resource,
	const char *const *ids, size_t n_ids, struct clv_kube_desired *ret,
	struct clv_error *err);
/* The same, but the device need not exist: then device is "", and only the lease's name
 * is known. */
int clv_kube_desired_identify(const struct clv_kube_resource *resource,
	const char *const *ids, size_t n_ids, struct clv_kube_desired *ret,
	struct clv_error *err);
/* Joins the lease of a share and that of memory into share; takes ownership of memory's
 * units.  -EBUSY: they are on different devices. */
int clv_kube_desired_join(struct clv_kube_desired *share, struct clv_kube_desired *memory,
	struct clv_error *err);
/* Makes a deep copy.  -ENOMEM. */
int clv_kube_desired_copy(
	const struct clv_kube_desired *desired, struct clv_kube_desired *ret);
void clv_kube_desired_clear(struct clv_kube_desired *desired);

/* Whether they have a unit in common. */
bool clv_kube_desired_overlaps(
	const struct clv_kube_desired *a, const struct clv_kube_desired *b);

/* Chooses the ids that a container should get: of shares and memory, units of the device
 * that core/place chooses; of partitions, those of devices in use.  Stores at most
 * n_wanted indexes of available and returns their number.  must: ids that must be among
 * them.  near: the preferred device, or NULL. */
size_t clv_kube_prefer(const struct clv_kube_resource *resource,
	const char *const *available, size_t n_available, const char *const *must,
	size_t n_must, size_t n_wanted, const char *near, uint32_t *ret_indexes);
