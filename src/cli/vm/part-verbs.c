/* SPDX-License-Identifier: Apache-2.0 */
/* cleave vm: which of its commands. */
#include "base/cleanup.h"
#include "cli/frame/cli.h"
#include "cli/vm/actions.h"

#include <string.h>

static const struct part_verb {
	const char *name, *arguments;
	int min_arguments, max_arguments; /* -1: any number */
	int (*run)(const struct clv_vm_move_settings *settings, int argc, char **argv);
} part_verbs[] = {
	{"move", "VM HOST", 2, 2, clv_vm_run_move},
	{"drain", "HOST...", 1, -1, clv_vm_run_drain},
};

int clv_vm_run_vm(const void *settings, int argc, char **argv)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(part_verbs); i++) {
		const struct part_verb *verb = &part_verbs[i];

		if (strcmp(verb->name, argv[0]) != 0)
			continue;
		if (argc - 1 < verb->min_arguments ||
			(verb->max_arguments >= 0 && argc - 1 > verb->max_arguments))
			return clv_cli_fail(CLV_EXIT_USAGE, "write cleave vm %s %s",
				verb->name, verb->arguments);
		return verb->run(settings, argc - 1, argv + 1);
	}
	return clv_cli_fail(CLV_EXIT_USAGE,
		"'%.40s' is not a command of cleave vm: write cleave vm move VM HOST, or "
		"cleave vm drain HOST",
		argv[0]);
}
