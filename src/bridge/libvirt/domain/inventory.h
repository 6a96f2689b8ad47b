/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/libvirt/domain/domain.h"

#include <jansson.h>

/* The node's partitions that virtual machines can have, and the leases of virtual
 * machines, from the objects of the agent's API.  A GPU that is not divided into virtual
 * functions is a partition as well, of the profile CLV_VM_WHOLE and with the GPU's name.
 */

#define CLV_VM_WHOLE "whole"

struct clv_vm_partition {
	char name[CLV_VM_PARTITION_MAX];
	char profile[40];
	char address[CLV_VM_ADDRESS_MAX]; /* of the function, or the UUID of its mdev */
	char device[64];                  /* the GPU's name */
	enum clv_vm_means means;
	uint64_t memory_bytes;
	bool is_held;      /* a lease or process has it */
	char holder[100];  /* the first of those, for people; "" */
	char why_not[128]; /* why no machine can have it; "" */
	char model[80];    /* the GPU's */
	bool is_whole;     /* the GPU itself */
	/* Of a whole GPU: a program without a lease, or a lease that is no machine's, for
	 * people; and the name that a pool's lease has, which is its machine's.  "" */
	char user[100];
	char pool_vm[64];
};

struct clv_vm_lease {
	char id[CLV_VM_LEASE_MAX];
	char vm[CLV_VM_UUID_MAX];
	char partition[CLV_VM_PARTITION_MAX];
	char command[256]; /* the machine's name when the lease was made */
};

struct clv_vm_inventory {
	char node[64];
	struct clv_vm_partition *partitions; /* owned */
	size_t n_partitions;
	struct clv_vm_lease *leases; /* owned */
	size_t n_leases;
};

/* node: GET /v1/node; devices: GET /v1/devices, or NULL; leases: GET /v1/leases.  A GPU
 * that a running machine has is not in node, as its driver does not see it; it is there
 * by its lease, unless devices says that it is lost.  -ENOMEM.  The caller clears *ret.
 */
int clv_vm_inventory_read(const json_t *node, const json_t *devices, const json_t *leases,
	struct clv_vm_inventory *ret);
void clv_vm_inventory_clear(struct clv_vm_inventory *inventory);
#define _cleanup_inventory_ CLV_CLEANUP(clv_vm_inventory_clear)

/* NULL: there is none.  Of two names of one GPU, that with a machine's lease is the one
 * at its address. */
const struct clv_vm_partition *clv_vm_find_partition(
	const struct clv_vm_inventory *inventory, const char *name);
const struct clv_vm_partition *clv_vm_partition_at(
	const struct clv_vm_inventory *inventory, const char *address);
const struct clv_vm_lease *clv_vm_lease_by_id(
	const struct clv_vm_inventory *inventory, const char *id);
const struct clv_vm_lease *clv_vm_lease_on(
	const struct clv_vm_inventory *inventory, const char *partition);
/* The first lease of a machine; NULL: it has none. */
const struct clv_vm_lease *clv_vm_lease_of(
	const struct clv_vm_inventory *inventory, const char *uuid);
size_t clv_vm_count_leases(const struct clv_vm_inventory *inventory, const char *uuid);
/* Whether the partition of each lease is there. */
bool clv_vm_inventory_has_all(const struct clv_vm_inventory *inventory);

/* "vm:UUID" of a lease's holder; NULL: it is of no virtual machine. */
#define CLV_VM_HOLDER_PREFIX "vm:"
const char *clv_vm_of_holder(const char *holder);
