/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"
#include "bridge/kubernetes/resource/inventory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct json_t;

/* The node as dynamic resource allocation sees it: devices by name, what they share, and
 * ResourceSlices that say so.  Pure. */

#define CLV_KUBE_DRA_NAME_MAX 64
#define CLV_KUBE_SLICE_DEVICES_MAX 64u /* Kubernetes', of devices with counters */
#define CLV_KUBE_SLICE_SETS_MAX 8u

/* What a device of a slice is here. */
struct clv_kube_place {
	char name[CLV_KUBE_DRA_NAME_MAX];
	char device[72];  /* the whole one */
	char profile[40]; /* "": all of it, or a share of it */
	uint32_t start;
	bool is_made;    /* the partition is made when it is wanted */
	bool is_mode;    /* the GPU is brought into the mode of the profile, */
	bool is_divided; /* which is more than one partition */
	bool is_shared;
	uint64_t memory_bytes;
};

struct clv_kube_places {
	struct clv_kube_place *items;
	size_t n;
};

/* *ret_specs: a list of the specs of slices, but for driver, pool and node; owned by the
 * caller.  is_apart: counters are in slices of their own, from Kubernetes 1.35 on. */
int clv_kube_slices_make(const struct json_t *node,
	const struct clv_kube_inventory *inventory,
	const struct clv_kube_settings *settings, bool is_apart,
	struct clv_kube_places *ret_places, struct json_t **ret_specs,
	struct clv_error *err);
void clv_kube_places_clear(struct clv_kube_places *places);
const struct clv_kube_place *clv_kube_places_find(
	const struct clv_kube_places *places, const char *name);
