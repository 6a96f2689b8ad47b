/* SPDX-License-Identifier: Apache-2.0 */
/* cleave: parses the options before the verb, looks the verb up in the table
 * (cli/main/table.h) and runs it. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/suggest.h"
#include "cli/frame/cli.h"
#include "cli/frame/help.h"
#include "cli/main/table.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define VERBS_MAX 64

static int fail_verb(const char *word)
{
	const struct clv_verb_table *table = &clv_cleave_table;
	const char *names[VERBS_MAX];
	size_t n = 0;
	const char *near;

	for (size_t i = 0; i < table->n && n < VERBS_MAX; i++)
		names[n++] = table->items[i]->name;
	near = clv_suggest(word, names, n);
	if (near)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"'%.40s' is not a verb of cleave: did you mean '%s'?", word,
			near);
	return clv_cli_fail(
		CLV_EXIT_USAGE, "'%.40s' is not a verb of cleave: see cleave help", word);
}

/* Options before the verb are the defaults of the verb's own. */
static int run_verb(const struct clv_verb *verb, const struct clv_common *before,
	int argc, char **argv)
{
	_cleanup_free_ struct clv_common *settings = calloc(1, verb->settings_bytes);
	struct clv_error err;
	int first;

	if (!settings)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	*settings = *before;
	if (clv_opt_parse(verb, argc, argv, settings, &first, &err) < 0)
		return clv_cli_fail(CLV_EXIT_USAGE, "%s", err.msg);
	if (settings->help) {
		clv_help_print(verb, stdout);
		return CLV_EXIT_OK;
	}

	return verb->run(settings, argc - first, argv + first);
}

static int run(int argc, char **argv)
{
	const struct clv_verb *root = clv_cleave_table.root, *verb;
	struct clv_root_settings settings = {};
	struct clv_error err;
	int first;

	clv_verb_table_set(&clv_cleave_table);
	/* The terminal's character set, but the number format of JSON. */
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_DFL);
	if (clv_opt_parse(root, argc, argv, &settings, &first, &err) < 0)
		return clv_cli_fail(CLV_EXIT_USAGE, "%s", err.msg);
	if (settings.version) {
		printf("cleave %s\n", CLV_VERSION);
		return CLV_EXIT_OK;
	}
	if (settings.common.help) {
		clv_help_print(root, stdout);
		return CLV_EXIT_OK;
	}
	if (first >= argc) {
		clv_help_print(root, stderr);
		return CLV_EXIT_USAGE;
	}
	verb = clv_verb_find(argv[first]);
	if (!verb)
		return fail_verb(argv[first]);

	return run_verb(verb, &settings.common, argc - first, argv + first);
}

int main(int argc, char **argv)
{
	int code = run(argc, argv);

	/* As the secret of a token, which is shown once. */
	if (code == CLV_EXIT_OK && (ferror(stdout) || fflush(stdout) < 0))
		code = clv_cli_fail(CLV_EXIT_FAILED, "cannot write the output: %m");
	return code;
}
