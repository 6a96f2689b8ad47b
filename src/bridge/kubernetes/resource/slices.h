/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"
#include "bridge/kubernetes/resource/inventory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct json_t;

/* The node's ResourceSlices for dynamic resource allocation, and the place that each of
 * their devices stands for.  Pure. */

#define CLV_KUBE_DRA_NAME_MAX 64
#define CLV_KUBE_SLICE_DEVICES_MAX 64u /* Kubernetes' limit for devices with counters */
#define CLV_KUBE_SLICE_SETS_MAX 8u     /* Kubernetes' limit for sets of counters */

/* Where the API server keeps the counters by which devices exclude each other. */
enum clv_kube_counters {
	CLV_KUBE_COUNTERS_BESIDE, /* in the slices of the devices */
	CLV_KUBE_COUNTERS_APART,  /* in slices of their own: Kubernetes 1.35 and later */
	CLV_KUBE_COUNTERS_NONE,   /* it drops them: only partitions that exist */
};

/* What the API server keeps of a slice. */
struct clv_kube_server {
	enum clv_kube_counters counters;
	bool has_taints; /* of devices */
};

/* The taint of the devices of an unhealthy GPU; its value is the state. */
#define CLV_KUBE_TAINT CLV_KUBE_DOMAIN "/health"

/* The place on the node that a device of a slice stands for. */
struct clv_kube_place {
	char name[CLV_KUBE_DRA_NAME_MAX]; /* of the slice's device */
	char device[72];                  /* the node's device */
	char profile[40];                 /* of a partition; "": the device or a share */
	uint32_t start;                   /* of a partition */
	bool is_made;    /* the partition is created when it is claimed */
	bool is_mode;    /* the GPU's mode is changed to the profile when it is claimed */
	bool is_divided; /* with is_mode: that mode has more than one partition */
	bool is_shared;  /* several claims can have shares of the device */
	/* A program can use it with others like it, so one lease can have them whole: a
	 * device, or a partition of AMD. */
	bool is_joinable;
	uint64_t memory_bytes;
};

struct clv_kube_places {
	struct clv_kube_place *items;
	size_t n;
};

/* Makes the places and slices of the node (an object of the agent's API); devices that
 * the inventory has as unhealthy have a taint, or are left out.  The caller owns
 * *ret_places and *ret_specs, a list of slices' specs without driver, pool and node.
 * -ENOMEM. */
int clv_kube_slices_make(const struct json_t *node,
	const struct clv_kube_inventory *inventory,
	const struct clv_kube_settings *settings, struct clv_kube_server server,
	struct clv_kube_places *ret_places, struct json_t **ret_specs,
	struct clv_error *err);
void clv_kube_places_clear(struct clv_kube_places *places);
const struct clv_kube_place *clv_kube_places_find(
	const struct clv_kube_places *places, const char *name);
