/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What KFD, the compute side of amdgpu, shows in /sys/class/kfd: a node for each device
 * that programs see, and the processes that have opened it. */

struct clv_kfd_node {
	uint32_t gpu_id;
	uint32_t domain;
	uint32_t location; /* bus << 8 | device << 3; above and below, the partition */
	uint32_t render_minor; /* 0: not said */
	uint32_t compute_units;
	uint32_t dies;
	uint64_t memory_bytes;
	uint64_t unique_id; /* 0: not said */
};

/* A process and a node that it may use.  KFD counts it as a user of the node's device
 * from the moment that it opens /dev/kfd, whether or not it has work there. */
struct clv_kfd_use {
	uint32_t pid;
	uint32_t gpu_id;
	uint64_t memory_bytes;
	uint32_t busy_units; /* compute units with work of it at this moment */
	bool has_busy_units; /* that is said */
	bool is_active;      /* has memory or a queue on it */
};

struct clv_kfd {
	struct clv_kfd_node *nodes; /* owned, in KFD's order */
	size_t n_nodes;
	struct clv_kfd_use *uses; /* owned */
	size_t n_uses;
	bool has_processes; /* the driver lists them at all */
};

/* What cannot be read is left out.  -ENOMEM. */
int clv_kfd_read(struct clv_kfd *ret);
/* The processes alone, anew; the nodes stay as they are.  -ENOMEM */
int clv_kfd_read_uses(struct clv_kfd *kfd);
void clv_kfd_clear(struct clv_kfd *kfd);
#define _cleanup_kfd_ CLV_CLEANUP(clv_kfd_clear)

/* The number-th node of the PCI function: its number-th partition.  NULL: not shown. */
const struct clv_kfd_node *clv_kfd_find(
	const struct clv_kfd *kfd, const char *pci_address, unsigned number);

/* ROCm counts devices as KFD does, in ROCR_VISIBLE_DEVICES too (AMD, "GPU isolation
 * techniques").  ret: 16 bytes. */
void clv_kfd_number(
	const struct clv_kfd *kfd, const struct clv_kfd_node *node, char ret[16]);

/* "GPU-" and the 16 digits that ROCm knows the device by. */
void clv_kfd_make_uuid(uint64_t unique_id, char *ret, size_t ret_bytes);
