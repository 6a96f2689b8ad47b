/* SPDX-License-Identifier: Apache-2.0 */
/* Prints help texts and fills the sources of man pages, from the option tables. */
#include "cli/frame/help.h"

#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/terminal.h"
#include "cli/frame/verb-table.h"

#include <errno.h>
#include <string.h>

#define INDENT 28

/* Wraps text; the cursor is in column `at`, and further lines begin at `indent`. */
static void print_wrapped(const char *text, int indent, int at, int width, FILE *stream)
{
	const char *gap = "";

	while (*text) {
		int n = (int)strcspn(text, " ");

		if (at + n + 1 > width && at > indent) {
			fprintf(stream, "\n%*s", indent, "");
			at = indent;
			gap = "";
		}
		at += fprintf(stream, "%s%.*s", gap, n, text);
		gap = " ";
		text += n;
		text += *text == ' ';
	}
	fputc('\n', stream);
}

/* "--share=FRACTION", "--wait[=TIMEOUT]". */
static void write_long(const struct clv_opt *opt, char *ret, size_t ret_bytes)
{
	if (opt->argument)
		snprintf(ret, ret_bytes,
			opt->type == CLV_OPT_WAIT ? "--%s[=%s]" : "--%s=%s", opt->name,
			opt->argument);
	else
		snprintf(ret, ret_bytes, "--%s", opt->name);
}

static void print_pair(const char *left, const char *text, int width, FILE *stream)
{
	int at = fprintf(stream, "  %s", left);

	if (width < INDENT + 20) {
		fprintf(stream, "\n      ");
		print_wrapped(text, 6, 6, width, stream);
		return;
	}
	if (at > INDENT - 2) {
		fputc('\n', stream);
		at = 0;
	}
	fprintf(stream, "%*s", INDENT - at, "");
	print_wrapped(text, INDENT, INDENT, width, stream);
}

static void print_options(const struct clv_verb *verb, int width, FILE *stream)
{
	fprintf(stream, "\nOptions:\n");
	for (size_t i = 0; i < verb->n_options; i++) {
		const struct clv_opt *opt = &verb->options[i];
		char name[64], left[80];

		if (opt->is_hidden)
			continue;
		write_long(opt, name, sizeof(name));
		if (opt->letter)
			snprintf(left, sizeof(left), "-%c, %s", opt->letter, name);
		else
			snprintf(left, sizeof(left), "    %s", name);
		print_pair(left, opt->help, width, stream);
	}
}

static void print_verbs(int width, FILE *stream)
{
	fprintf(stream, "\nVerbs:\n");
	for (size_t i = 0; i < clv_verb_table()->n; i++)
		print_pair(clv_verb_table()->items[i]->name,
			clv_verb_table()->items[i]->summary, width, stream);
}

void clv_help_print(const struct clv_verb *verb, FILE *stream)
{
	int width = clv_terminal_width();

	if (width == 0 || width > 90)
		width = 90;
	fprintf(stream, "Usage: cleave%s%s [OPTION...]%s%s\n\n", verb->name[0] ? " " : "",
		verb->name, verb->arguments ? " " : "",
		verb->arguments ? verb->arguments : "");
	print_wrapped(verb->summary, 0, 0, width, stream);
	if (verb->about) {
		fputc('\n', stream);
		print_wrapped(verb->about, 0, 0, width, stream);
	}
	print_options(verb, width, stream);
	if (!verb->name[0])
		print_verbs(width, stream);
	fprintf(stream, "\nMore: man cleave%s%s\n", verb->name[0] ? "-" : "", verb->name);
}

/* Escapes the characters that are markup in scdoc. */
static void print_escaped(const char *text, FILE *stream)
{
	for (; *text; text++) {
		if (strchr("*_\\#@~", *text))
			fputc('\\', stream);
		fputc(*text, stream);
	}
}

static void print_scdoc_synopsis(const struct clv_verb *verb, FILE *stream)
{
	fprintf(stream, "*cleave%s%s* [OPTION...]", verb->name[0] ? " " : "", verb->name);
	if (verb->arguments) {
		fputc(' ', stream);
		print_escaped(verb->arguments, stream);
	}
	fputc('\n', stream);
}

static void print_scdoc_options(const struct clv_verb *verb, FILE *stream)
{
	for (size_t i = 0; i < verb->n_options; i++) {
		const struct clv_opt *opt = &verb->options[i];

		if (opt->is_hidden)
			continue;
		if (opt->letter)
			fprintf(stream, "*-%c*, ", opt->letter);
		fprintf(stream, "*--%s*", opt->name);
		if (opt->argument)
			fprintf(stream, opt->type == CLV_OPT_WAIT ? "[=_%s_]" : "=_%s_",
				opt->argument);
		fprintf(stream, "\n\t");
		print_escaped(opt->help, stream);
		fprintf(stream, ".\n\n");
	}
}

static void print_scdoc_verbs(FILE *stream)
{
	for (size_t i = 0; i < clv_verb_table()->n; i++) {
		fprintf(stream, "*%s*\n\t", clv_verb_table()->items[i]->name);
		print_escaped(clv_verb_table()->items[i]->summary, stream);
		fprintf(stream, ". See *cleave-%s*(1).\n\n",
			clv_verb_table()->items[i]->name);
	}
}

int clv_help_fill_scdoc(const struct clv_verb *verb, FILE *from, FILE *to)
{
	char line[1024];

	while (fgets(line, sizeof(line), from)) {
		if (strcmp(line, "@NAME@\n") == 0)
			fprintf(to, "cleave%s%s - %s\n", verb->name[0] ? "-" : "",
				verb->name, verb->summary);
		else if (strcmp(line, "@SYNOPSIS@\n") == 0)
			print_scdoc_synopsis(verb, to);
		else if (strcmp(line, "@OPTIONS@\n") == 0)
			print_scdoc_options(verb, to);
		else if (strcmp(line, "@VERBS@\n") == 0)
			print_scdoc_verbs(to);
		else
			fputs(line, to);
	}
	return ferror(from) || fflush(to) < 0 ? -EIO : 0;
}
