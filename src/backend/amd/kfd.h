/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* KFD, the compute part of amdgpu, as /sys/class/kfd shows it: a node for each device
 * that programs see (a GPU or a partition of one), and the processes that have opened
 * /dev/kfd.
 */

struct clv_kfd_node {
	uint32_t gpu_id;
	uint32_t domain;
	uint32_t location;     /* location_id: bus << 8 | device << 3, see kfd.c */
	uint32_t render_minor; /* 0: not known */
	uint32_t compute_units;
	uint32_t dies;
	uint32_t target; /* gfx_target_version: 90402 for gfx942; 0: not known */
	uint64_t memory_bytes;
	uint64_t unique_id; /* 0: not known */
};

/* A process and a node that it may use.  KFD counts the process as a user of the node's
 * device as soon as it opens /dev/kfd, even if it submits no work. */
struct clv_kfd_use {
	uint32_t pid;
	uint32_t gpu_id;
	uint64_t memory_bytes;
	uint32_t busy_units; /* compute units that run waves of the process now */
	bool has_busy_units; /* busy_units is known */
	bool is_active;      /* the process has memory or a queue on the node */
};

struct clv_kfd {
	struct clv_kfd_node *nodes; /* owned, in KFD's order */
	size_t n_nodes;
	struct clv_kfd_use *uses; /* owned */
	size_t n_uses;
	bool has_processes; /* the driver lists processes */
};

/* Reads nodes and processes; those that cannot be read are left out.  -ENOMEM. */
int clv_kfd_read(struct clv_kfd *ret);
/* Reads the processes again and keeps the nodes.  -ENOMEM */
int clv_kfd_read_uses(struct clv_kfd *kfd);
void clv_kfd_clear(struct clv_kfd *kfd);

/* The node with this index among those of the PCI function, which is the index of the
 * partition.  NULL if there is none. */
const struct clv_kfd_node *clv_kfd_find(
	const struct clv_kfd *kfd, const char *pci_address, unsigned number);

/* The node's index for ROCR_VISIBLE_DEVICES: ROCm orders devices as KFD does (AMD, "GPU
 * isolation techniques").  ret: 16 bytes. */
void clv_kfd_number(
	const struct clv_kfd *kfd, const struct clv_kfd_node *node, char ret[16]);

/* Writes "GPU-" and 16 hexadecimal digits, the UUID that ROCm uses. */
void clv_kfd_make_uuid(uint64_t unique_id, char *ret, size_t ret_bytes);
