/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/libvirt/domain/inventory.h"

/* The ledger, the domains' XML and the hardware, compared.  The ledger decides. */

/* A domain as libvirt has it. */
struct clv_vm_guest {
	const char *uri;  /* of its libvirt; borrowed */
	const char *host; /* the name of its host; borrowed */
	struct clv_vm_domain
		config; /* its persistent XML; of a transient one that it has */
	struct clv_vm_domain live; /* while it runs */
	bool is_running;
	bool is_persistent;
	char state[16]; /* "running", "off", "paused", ... */
};

enum clv_vm_difference_kind {
	CLV_VM_LEASE_WITHOUT_GUEST,
	CLV_VM_LEASE_NOT_IN_CONFIG,
	CLV_VM_LEASE_NOT_LIVE,
	CLV_VM_DEVICE_WITHOUT_LEASE,
	CLV_VM_DEVICE_OF_OTHER,
	CLV_VM_DEVICE_ELSEWHERE,
	CLV_VM_PARTITION_GONE,
	CLV_VM_PARTITION_UNASSIGNED,
	CLV_VM_DEVICE_IN_USE,
	_CLV_VM_DIFFERENCE_MAX,
};

/* What --repair does. */
enum clv_vm_repair {
	CLV_VM_REPAIR_NONE,    /* it is shown only */
	CLV_VM_REPAIR_RELEASE, /* the lease ends */
	CLV_VM_REPAIR_ATTACH,  /* the function is put into the domain's XML */
	CLV_VM_REPAIR_DETACH,  /* the function is taken out of it */
	CLV_VM_REPAIR_MOVE,    /* out, and in with its present address */
	_CLV_VM_REPAIR_MAX,
};

struct clv_vm_difference {
	enum clv_vm_difference_kind kind;
	const struct clv_vm_guest *guest;         /* NULL: there is none */
	const struct clv_vm_lease *lease;         /* NULL: there is none */
	const struct clv_vm_partition *partition; /* NULL: there is none */
	const struct clv_vm_hostdev *hostdev;     /* NULL: there is none */
	bool is_in_config; /* of a hostdev: in the persistent XML, not in the running one
			    */
};

struct clv_vm_differences {
	struct clv_vm_difference *items; /* owned; its members point into the arguments */
	size_t n;
};

/* NULL: none has this UUID. */
const struct clv_vm_guest *clv_vm_find_guest(
	const struct clv_vm_guest *guests, size_t n, const char *uuid);

const char *clv_vm_difference_to_string(enum clv_vm_difference_kind kind);
enum clv_vm_repair clv_vm_difference_repair(enum clv_vm_difference_kind kind);
/* Whether the machine must not start: a function is not there or not its own. */
bool clv_vm_difference_stops_start(enum clv_vm_difference_kind kind);

/* is_complete: guests are all of the node's, so that a lease's machine that is not among
 * them is gone.  -ENOMEM.  The caller frees ret->items. */
int clv_vm_compare(const struct clv_vm_inventory *inventory,
	const struct clv_vm_guest *guests, size_t n_guests, bool is_complete,
	struct clv_vm_differences *ret);

/* One line: what differs, and what repairs it. */
void clv_vm_difference_describe(
	const struct clv_vm_difference *difference, char *ret, size_t ret_bytes);

void clv_vm_guest_clear(struct clv_vm_guest *guest);
