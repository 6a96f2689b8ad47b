/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "models.h"

/* The node as its folder's file `node` describes it: the part that does not change. */

#define DNV_GPUS_MAX 16
#define DNV_VGPU_TYPES_MAX 32

/* How GPU instances get their ids. */
enum dnv_ids {
	DNV_IDS_FREE,    /* the lowest free one: independent of the placement */
	DNV_IDS_TREE,    /* by its placement in a binary tree, as on most GPUs */
	DNV_IDS_SWAPPED, /* the same with the halves of the GPU swapped, as on others */
};

/* How the driver can activate a change of MIG mode. */
enum dnv_reset {
	DNV_RESET_DONE,        /* by the call itself */
	DNV_RESET_REQUIRED_BY, /* another program must reset the GPU */
	DNV_RESET_IMPOSSIBLE,  /* only a reboot helps */
};

enum dnv_vgpu_mode {
	DNV_VGPU_NONE = 0,
	DNV_VGPU_PASSTHROUGH = 1,
	DNV_VGPU_GUEST = 2,
	DNV_VGPU_HOST = 3,
};

struct dnv_gpu {
	const struct dnv_model *model;
	char uuid[48];
	uint32_t domain, bus, device, minor;
	enum dnv_ids ids;
	enum dnv_reset reset;
	enum dnv_vgpu_mode vgpu;
	bool sriov;
	bool starts_with_mig;
	bool minor_moves;          /* every reset gives it another minor */
	bool packed;               /* no holes in the list of MIG devices */
	bool profiles_only_in_mig; /* not supported while the mode is off */
};

struct dnv_vgpu_type {
	uint32_t gpu, id, max;
	uint64_t memory_mib;
	char name[64];
};

struct dnv_node {
	char driver[80];
	bool unprivileged, legacy_uuids;
	bool stale; /* a process sees the MIG devices as they were at its nvmlInit */
	struct dnv_gpu gpus[DNV_GPUS_MAX];
	uint32_t n_gpus;
	struct dnv_vgpu_type vgpu_types[DNV_VGPU_TYPES_MAX];
	uint32_t n_vgpu_types;
};

/* False without the file; ends the process where it cannot be parsed. */
bool dnv_node_read(int dirfd, struct dnv_node *ret);

/* Derives 32 hexadecimal digits in five groups from the text. */
void dnv_uuid_of(const char *text, char ret[37]);
