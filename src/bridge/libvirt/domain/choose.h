/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/libvirt/domain/inventory.h"

struct clv_error;

/* Which partitions virtual machines get. */

struct clv_vm_wish {
	const char *partition; /* this one; NULL: by the members below */
	const char *profile;   /* NULL: not given, and no whole GPU */
	uint64_t memory_bytes; /* of each partition, exactly; 0: not given */
	const char *model;     /* of the GPU, exactly, and by these means; NULL: any */
	enum clv_vm_means means;
	uint32_t count; /* for each machine; 0 is 1 */
	bool more;      /* also a machine that has one */
};

/* A machine that is to get partitions. */
struct clv_vm_target {
	const char *name;
	const char *uuid;
	size_t n_has;
};

/* Chooses count partitions for each machine, those of the first machine first: ret has
 * room for n_targets * count.  All of one machine are on as few GPUs as possible;
 * machines go to the GPU with the most free partitions, so that load is spread. -EEXIST:
 * a machine has a partition; -ENOENT: there is no such partition, or none of the size;
 * -EBUSY: not enough are free; -EINVAL: the wish is not clear; -ENOTSUP: no machine can
 * have the partition. */
int clv_vm_choose(const struct clv_vm_inventory *inventory,
	const struct clv_vm_wish *wish, const struct clv_vm_target *targets,
	size_t n_targets, const struct clv_vm_partition **ret, struct clv_error *err);
