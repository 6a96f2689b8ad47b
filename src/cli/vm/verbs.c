/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of cleave vms, assign, unassign and vm. */
#include "cli/frame/verbs.h"
#include "base/cleanup.h"
#include "cli/vm/vm.h"

#include <stddef.h>

static const char *const offline_choices[] = {"shutdown", "none", NULL};

#define OPT_CONNECT                                                                     \
	{                                                                               \
		.name = "connect", .letter = 'c', .type = CLV_OPT_TEXT,                 \
		.offset = CLV_OPT_AT(struct clv_vm_settings, connect),                  \
		.argument = "URI[,URI...]",                                             \
		.help = "Use the libvirt of these URIs (default: LIBVIRT_DEFAULT_URI, " \
			"or qemu:///system)"                                            \
	}

#define OPT_TIMEOUT(owner)                                                         \
	{                                                                          \
		.name = "timeout", .type = CLV_OPT_DURATION,                       \
		.offset = CLV_OPT_AT(owner, timeout_ns), .argument = "TIME",       \
		.help = "How long a virtual machine may take to shut down, as 5m " \
			"(default 2m)"                                             \
	}

#define OPT_FORCE(owner)                                                             \
	{                                                                            \
		.name = "force", .letter = 'f', .type = CLV_OPT_FLAG,                \
		.offset = CLV_OPT_AT(owner, force),                                  \
		.help = "Turn a virtual machine off that does not shut down in the " \
			"time of --timeout"                                          \
	}

static const struct clv_opt vms_options[] = {
	OPT_CONNECT,
	{
		.name = "follow",
		.letter = 'f',
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct clv_vms_settings, follow),
		.help = "Print what happens to the virtual machines and their partitions "
			"as it happens, until interrupted; JSON is then one object per "
			"line",
	},
	{
		.name = "gpus",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct clv_vms_settings, gpus),
		.help = "List the GPUs instead, whether they can be assigned, and their "
			"partitions; needs no libvirt",
	},
	{
		.name = "repair",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct clv_vms_settings, repair),
		.help = "Repair what differs between leases, virtual machines and "
			"partitions, where there is one way to do so",
	},
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_vms = {
	.name = "vms",
	.summary = "list the virtual machines and their partitions",
	.about = "Compares the leases, the XML of the virtual machines and the "
		 "partitions, and prints what differs on stderr. Changes nothing "
		 "without --repair.",
	.settings_bytes = sizeof(struct clv_vms_settings),
	.options = vms_options,
	.n_options = CLV_ARRAY_SIZE(vms_options),
	.program = CLV_VM_PROGRAM,
};

#define ASSIGN(member) CLV_OPT_AT(struct clv_assign_settings, member)

static const struct clv_opt assign_options[] = {
	{
		.name = "profile",
		.letter = 'p',
		.type = CLV_OPT_TEXT,
		.offset = ASSIGN(profile),
		.argument = "PROFILE",
		.help = "Assign partitions of this profile, as vf:4; whole: whole GPUs",
	},
	{
		.name = "size",
		.type = CLV_OPT_BYTES,
		.offset = ASSIGN(size_bytes),
		.argument = "SIZE",
		.help = "Assign partitions with exactly this memory, as 4G",
	},
	{
		.name = "count",
		.letter = 'n',
		.type = CLV_OPT_POSITIVE,
		.offset = ASSIGN(count),
		.argument = "N",
		.help = "Partitions for each virtual machine (default 1)",
	},
	{
		.name = "all",
		.type = CLV_OPT_FLAG,
		.offset = ASSIGN(all),
		.help = "Assign to all virtual machines of this host that have no "
			"partition",
	},
	{
		.name = "more",
		.type = CLV_OPT_FLAG,
		.offset = ASSIGN(more),
		.help = "Assign also to a virtual machine that has a partition",
	},
	{
		.name = "restart",
		.type = CLV_OPT_FLAG,
		.offset = ASSIGN(restart),
		.help = "Shut a running virtual machine down, and start it again, if the "
			"partition cannot be added while it runs",
	},
	OPT_TIMEOUT(struct clv_assign_settings),
	OPT_FORCE(struct clv_assign_settings),
	{
		.name = "offline-action",
		.type = CLV_OPT_CHOICE,
		.offset = ASSIGN(offline_action),
		.argument = "shutdown|none",
		.choices = offline_choices,
		.help = "What happens to the virtual machine when the host shuts down: "
			"it is shut down before (the default), or nothing is done",
	},
	{
		.name = "mmio",
		.type = CLV_OPT_TEXT,
		.offset = ASSIGN(mmio),
		.argument = "auto|SIZE",
		.help = "Enlarge the range of 64-bit addresses of the virtual machine, "
			"if the partition needs more, or to this size; it takes effect "
			"at the next start",
	},
	OPT_CONNECT,
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_assign = {
	.name = "assign",
	.arguments = "[PARTITION|GPU] VM...",
	.summary = "assign partitions to virtual machines",
	.about =
		"A partition goes to one virtual machine, which keeps it until cleave "
		"unassign. Several virtual machines get partitions of one size, and none "
		"gets one if they do not suffice for all. One that runs gets its "
		"partition at once where libvirt allows "
		"that, and else only with --restart.",
	.settings_bytes = sizeof(struct clv_assign_settings),
	.options = assign_options,
	.n_options = CLV_ARRAY_SIZE(assign_options),
	.min_arguments = 0,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_VM,
	.program = CLV_VM_PROGRAM,
};

static const struct clv_opt unassign_options[] = {
	{
		.name = "all",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct clv_unassign_settings, all),
		.help = "Take the partitions of all virtual machines back",
	},
	OPT_TIMEOUT(struct clv_unassign_settings),
	OPT_FORCE(struct clv_unassign_settings),
	CLV_OPT_YES(struct clv_unassign_settings),
	OPT_CONNECT,
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_unassign = {
	.name = "unassign",
	.arguments = "VM...",
	.summary = "take the partitions of virtual machines back",
	.about = "A running virtual machine that does not release its partition is shut "
		 "down and started again without it; the command asks before. The "
		 "partition is free when the virtual machine no longer has it.",
	.settings_bytes = sizeof(struct clv_unassign_settings),
	.options = unassign_options,
	.n_options = CLV_ARRAY_SIZE(unassign_options),
	.min_arguments = 0,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_VM,
	.program = CLV_VM_PROGRAM,
};

static const struct clv_opt vm_options[] = {
	{
		.name = "to",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct clv_vm_move_settings, to),
		.argument = "URI",
		.help = "The URI of the libvirt of HOST (default: "
			"qemu+ssh://HOST/system)",
	},
	{
		.name = "to-socket",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct clv_vm_move_settings, to_socket),
		.argument = "PATH",
		.completes = CLV_COMPLETE_FILE,
		.help = "Use the agent of HOST on this socket, instead of one that ssh "
			"forwards",
	},
	OPT_TIMEOUT(struct clv_vm_move_settings),
	OPT_FORCE(struct clv_vm_move_settings),
	CLV_OPT_YES(struct clv_vm_move_settings),
	OPT_CONNECT,
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_vm = {
	.name = "vm",
	.arguments = "move VM HOST|drain HOST...",
	.summary = "move virtual machines with their partitions to other hosts",
	.about =
		"move leases equal partitions on HOST, shuts the virtual machine down if "
		"it runs, defines it there with them, starts it again, and releases its "
		"partitions here. drain does that for each virtual machine of this host "
		"that has a partition, one after the other. What is to happen is shown "
		"first; if a step fails, those before it are undone.",
	.settings_bytes = sizeof(struct clv_vm_move_settings),
	.options = vm_options,
	.n_options = CLV_ARRAY_SIZE(vm_options),
	.min_arguments = 1,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_VM,
	.program = CLV_VM_PROGRAM,
};
