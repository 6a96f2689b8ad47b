/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the options before the verb, looks the verb up in the table and runs it, or the
 * program that carries it out. */
#include "cli/frame/run.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/suggest.h"
#include "cli/frame/cli.h"
#include "cli/frame/help.h"
#include "cli/frame/verb-table.h"

#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERBS_MAX 64

static int fail_verb(const char *word)
{
	const struct clv_verb_table *table = clv_verb_table();
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

/* Writes the path of the program in the folder of this one. */
static void find_beside(const char *program, char ret[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;

	ret[length > 0 ? length : 0] = '\0';
	slash = strrchr(ret, '/');
	if (slash)
		snprintf(slash + 1, (size_t)(ret + PATH_MAX - slash - 1), "%s", program);
}

/* Runs "PROGRAM [--sim=FILE] [--socket=PATH] VERB ARGUMENT...". */
static int run_program(const struct clv_verb *verb, const struct clv_common *before,
	int argc, char **argv)
{
	_cleanup_free_ char **words = calloc((size_t)argc + 6, sizeof(*words));
	char path[PATH_MAX];
	size_t n = 0;

	if (!words)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	words[n++] = (char *)verb->program;
	if (before->sim) {
		words[n++] = (char *)"--sim";
		words[n++] = (char *)before->sim;
	}
	if (before->socket) {
		words[n++] = (char *)"--socket";
		words[n++] = (char *)before->socket;
	}
	memcpy(words + n, argv, (size_t)argc * sizeof(*argv));
	find_beside(verb->program, path);
	execv(path, words);
	execvp(verb->program, words);
	return clv_cli_fail(CLV_EXIT_NOT_FOUND,
		"cleave %s needs the program %s: install the package of that name",
		verb->name, verb->program);
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
	clv_cli_print_errors_by(verb->print_error);
	if (clv_opt_parse(verb, argc, argv, settings, &first, &err) < 0)
		return clv_cli_fail(CLV_EXIT_USAGE, "%s", err.msg);
	if (settings->help) {
		clv_help_print(verb, stdout);
		return CLV_EXIT_OK;
	}
	if (verb->program)
		return run_program(verb, before, argc, argv);

	return verb->run(settings, argc - first, argv + first);
}

static int run(int argc, char **argv)
{
	const struct clv_verb *root = clv_verb_table()->root, *verb;
	struct clv_root_settings settings = {};
	struct clv_error err;
	int first;

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

int clv_run(const struct clv_verb_table *table, int argc, char **argv)
{
	int code;

	clv_verb_table_set(table);
	code = run(argc, argv);
	/* As the secret of a token, which is shown once. */
	if (code == CLV_EXIT_OK && (ferror(stdout) || fflush(stdout) < 0))
		code = clv_cli_fail(CLV_EXIT_FAILED, "cannot write the output: %m");
	return code;
}
