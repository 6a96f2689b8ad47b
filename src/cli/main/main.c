/* SPDX-License-Identifier: Apache-2.0 */
/* cleave: finds the verb and runs it.  The table of verbs is all there is; help, man
 * pages and completion are printed from it. */
#include "base/suggest.h"
#include "cli/frame/cli.h"
#include "cli/frame/help.h"
#include "cli/frame/verb-table.h"
#include "cli/frame/verbs.h"

#include "base/error.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct clv_verb *const verbs[] = {
	&clv_verb_devices,
	&clv_verb_run,
	&clv_verb_reserve,
	&clv_verb_ps,
	&clv_verb_top,
	&clv_verb_set,
	&clv_verb_release,
	&clv_verb_profiles,
	&clv_verb_partition,
	&clv_verb_plan,
	&clv_verb_apply,
	&clv_verb_diff,
	&clv_verb_export,
	&clv_verb_import,
	&clv_verb_cordon,
	&clv_verb_drain,
	&clv_verb_uncordon,
	&clv_verb_simulate,
	&clv_verb_fit,
	&clv_verb_defrag,
	&clv_verb_advise,
	&clv_verb_profile,
	&clv_verb_cdi,
	&clv_verb_systemd,
	&clv_verb_slurm,
	&clv_verb_events,
	&clv_verb_tenants,
	&clv_verb_token,
	&clv_verb_audit,
	&clv_verb_backup,
	&clv_verb_restore,
	&clv_verb_doctor,
	&clv_verb_version,
	&clv_verb_completion,
	&clv_verb_help,
};

static const struct clv_opt root_options[] = {
	CLV_OPT_HELP,
	{
		.name = "version",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(version),
		.help = "Show the version and exit",
	},
	{
		.name = "sim",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(sim),
		.argument = "FILE",
		.completes = CLV_COMPLETE_FILE,
		.help = "Use the simulated node that this file describes instead of the "
			"real one",
	},
	CLV_OPT_SOCKET,
};

static const struct clv_verb root = {
	.name = "",
	.arguments = "VERB [ARGUMENT...]",
	.summary = "divide and share GPUs: hardware partitions, enforced fractions",
	.options = root_options,
	.n_options = CLV_ARRAY_SIZE(root_options),
	.min_arguments = 0,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_VERB,
	.is_wrapper = true,
};

static const struct clv_verb_table table = {
	.root = &root,
	.items = verbs,
	.n = CLV_ARRAY_SIZE(verbs),
};

static int fail_verb(const char *word)
{
	const char *names[CLV_ARRAY_SIZE(verbs)];
	const char *near;

	for (size_t i = 0; i < table.n; i++)
		names[i] = verbs[i]->name;
	near = clv_suggest(word, names, table.n);
	if (near)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"'%.40s' is not a verb of cleave: did you mean '%s'?", word,
			near);
	return clv_cli_fail(
		CLV_EXIT_USAGE, "'%.40s' is not a verb of cleave: see cleave help", word);
}

static int run_verb(
	const struct clv_verb *verb, struct clv_settings *settings, int argc, char **argv)
{
	struct clv_error err;
	int first;

	if (clv_opt_parse(verb, argc, argv, settings, &first, &err) < 0)
		return clv_cli_fail(CLV_EXIT_USAGE, "%s", err.msg);
	if (settings->help) {
		clv_help_print(verb, stdout);
		return CLV_EXIT_OK;
	}

	return verb->run(settings, argc - first, argv + first);
}

int main(int argc, char **argv)
{
	struct clv_settings settings = {};
	const struct clv_verb *verb;
	struct clv_error err;
	int first;

	clv_verb_table_set(&table);
	/* The characters of a terminal, but the numbers of JSON. */
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_DFL);
	if (clv_opt_parse(&root, argc, argv, &settings, &first, &err) < 0)
		return clv_cli_fail(CLV_EXIT_USAGE, "%s", err.msg);
	if (settings.version) {
		printf("cleave %s\n", CLV_VERSION);
		return CLV_EXIT_OK;
	}
	if (settings.help) {
		clv_help_print(&root, stdout);
		return CLV_EXIT_OK;
	}
	if (first >= argc) {
		clv_help_print(&root, stderr);
		return CLV_EXIT_USAGE;
	}
	verb = clv_verb_find(argv[first]);
	if (!verb)
		return fail_verb(argv[first]);

	return run_verb(verb, &settings, argc - first, argv + first);
}
