/* SPDX-License-Identifier: Apache-2.0 */
/* cleave-vms: carries out the verbs of cleave that need libvirt.  cleave runs it with the
 * words that it was given; libvirt runs it as a hook, and systemd before the host goes
 * down. */
#include "base/cleanup.h"
#include "cli/frame/run.h"
#include "cli/frame/verb-table.h"
#include "cli/frame/verbs.h"
#include "cli/ssh/ssh.h"
#include "cli/vm/actions.h"
#include "cli/vm/vm.h"

static const struct clv_opt hook_options[] = {CLV_OPT_HELP, CLV_OPT_SOCKET};

static const struct clv_verb hook = {
	.name = "hook",
	.arguments = "VM OPERATION PART EXTRA",
	.summary = "libvirt's hook: whether a virtual machine may start",
	.options = hook_options,
	.n_options = CLV_ARRAY_SIZE(hook_options),
	.settings_bytes = sizeof(struct clv_common),
	.max_arguments = -1,
	.run = clv_vm_run_hook,
};

static const struct clv_opt offline_options[] = {
	{
		.name = "timeout",
		.type = CLV_OPT_DURATION,
		.offset = CLV_OPT_AT(struct clv_unassign_settings, timeout_ns),
		.argument = "TIME",
		.help = "How long each may take (default 2m)",
	},
	{
		.name = "force",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct clv_unassign_settings, force),
		.help = "Turn those off that do not shut down in that time",
	},
	{
		.name = "connect",
		.letter = 'c',
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct clv_vm_settings, connect),
		.argument = "URI[,URI...]",
		.help = "Use the libvirt of these URIs",
	},
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

static const struct clv_verb offline = {
	.name = "offline",
	.summary = "shut down the virtual machines with --offline-action=shutdown",
	.options = offline_options,
	.n_options = CLV_ARRAY_SIZE(offline_options),
	.settings_bytes = sizeof(struct clv_unassign_settings),
	.run = clv_vm_run_offline,
};

/* The options before the verb, as cleave passes them on. */
static const struct clv_opt root_options[] = {CLV_OPT_ROOT};

static const struct clv_verb root = {
	.name = "",
	.arguments = "VERB [ARGUMENT...]",
	.summary = "partitions of GPUs for virtual machines: use cleave vms, cleave "
		   "assign, cleave unassign",
	.options = root_options,
	.n_options = CLV_ARRAY_SIZE(root_options),
	.settings_bytes = sizeof(struct clv_root_settings),
	.max_arguments = -1,
	.is_wrapper = true,
};

static struct clv_verb carry_out(const struct clv_verb *verb,
	int (*run)(const void *settings, int argc, char **argv))
{
	struct clv_verb own = *verb;

	own.program = NULL;
	own.run = run;
	return own;
}

int main(int argc, char **argv)
{
	const struct clv_verb vms = carry_out(&clv_verb_vms, clv_vm_run_list);
	const struct clv_verb assign = carry_out(&clv_verb_assign, clv_vm_run_assign);
	const struct clv_verb unassign =
		carry_out(&clv_verb_unassign, clv_vm_run_unassign);
	const struct clv_verb vm = carry_out(&clv_verb_vm, clv_vm_run_vm);
	const struct clv_verb *const verbs[] = {
		&vms, &assign, &unassign, &vm, &hook, &offline};
	const struct clv_verb_table table = {&root, verbs, CLV_ARRAY_SIZE(verbs)};

	if (argc > 0 && clv_vm_ssh_is_wanted(argv[0]))
		return clv_vm_ssh_become(argc, argv);
	return clv_run(&table, argc, argv);
}
