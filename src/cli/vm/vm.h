/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

/* The options of the verbs for virtual machines.  cleave has the tables, for help and
 * completion; cleave-vms, which links libvirt, carries the verbs out. */

#define CLV_VM_PROGRAM "cleave-vms"

struct clv_vm_settings {
	struct clv_common common;
	const char *connect; /* URIs, separated by commas; NULL: the system's QEMU */
};

struct clv_vms_settings {
	struct clv_vm_settings vm;
	bool follow, gpus, repair;
};

struct clv_assign_settings {
	struct clv_vm_settings vm;
	const char *profile;
	uint64_t size_bytes;
	uint64_t count;
	const char *offline_action;
	const char *mmio;
	uint64_t timeout_ns;
	bool all, more, restart, force;
};

struct clv_vm_move_settings {
	struct clv_vm_settings vm;
	const char *to, *to_socket;
	uint64_t timeout_ns;
	bool force, yes;
};

struct clv_unassign_settings {
	struct clv_vm_settings vm;
	uint64_t timeout_ns;
	bool all, force, yes;
};
