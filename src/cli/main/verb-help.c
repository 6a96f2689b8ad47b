/* SPDX-License-Identifier: Apache-2.0 */
/* cleave help: prints the same text as VERB --help.  The hidden --scdoc fills in the
 * source of a man page, for the build. */
#include "cli/frame/verbs.h"

#include "base/suggest.h"
#include "cli/frame/cli.h"
#include "cli/frame/help.h"
#include "cli/frame/verb-table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct help_settings {
	struct clv_common common;
	const char *scdoc;
};

static int fill_scdoc(const struct clv_verb *verb, const char *path)
{
	FILE *from = fopen(path, "re");
	int r;

	if (!from)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot read %s: %m", path);
	r = clv_help_fill_scdoc(verb, from, stdout);
	fclose(from);
	if (r < 0)
		return clv_cli_fail(
			CLV_EXIT_FAILED, "cannot copy %s: %s", path, strerror(-r));
	return CLV_EXIT_OK;
}

static int run_help(const void *userdata, int argc, char **argv)
{
	const struct help_settings *settings = userdata;
	const struct clv_verb *verb =
		argc ? clv_verb_find(argv[0]) : clv_verb_table()->root;

	if (!verb)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"'%.40s' is not a verb of cleave: see cleave help", argv[0]);
	if (settings->scdoc)
		return fill_scdoc(verb, settings->scdoc);

	clv_help_print(verb, stdout);
	return CLV_EXIT_OK;
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	{
		.name = "scdoc",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct help_settings, scdoc),
		.argument = "FILE",
		.help = "Fill in the source of a man page",
		.is_hidden = true,
	},
};

const struct clv_verb clv_verb_help = {
	.name = "help",
	.arguments = "[VERB]",
	.summary = "show the help of cleave or of one verb",
	.settings_bytes = sizeof(struct help_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.max_arguments = 1,
	.completes = CLV_COMPLETE_VERB,
	.run = run_help,
};
