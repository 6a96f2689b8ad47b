/* SPDX-License-Identifier: Apache-2.0 */
/* cleave import: converts another tool's file to a layout.  No agent is asked; cleave
 * plan checks the layout against the node. */
#include "cli/frame/verbs.h"

#include "base/error.h"
#include "base/yaml.h"
#include "cli/frame/cli.h"
#include "cli/frame/input.h"
#include "cli/frame/output.h"
#include "core/layout/layout.h"
#include "import/import.h"

#include <stdio.h>
#include <string.h>

struct import_settings {
	struct clv_common common;
	const char *format;
	const char *select;
};

CLV_DEFINE_CLEANUP(struct clv_yaml *, clv_yaml_free)

static int fail_format(const char *name)
{
	char known[160] = "";

	for (size_t i = 0; i < clv_import_n_formats; i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			i ? ", " : "", clv_import_formats[i].name);
	return clv_cli_fail(
		CLV_EXIT_USAGE, "--format: '%.40s' is none of %s", name, known);
}

static bool is_format(const char *name)
{
	for (size_t i = 0; i < clv_import_n_formats; i++) {
		if (strcmp(clv_import_formats[i].name, name) == 0)
			return true;
	}
	return false;
}

static void print_remarks(const struct clv_import *import)
{
	for (size_t i = 0; i < import->n_remarks; i++)
		clv_output_line(stderr, "%s", import->remarks[i].text);
}

static int print_object(const struct clv_import *import, const char *layout)
{
	_cleanup_json_ json_t *object = json_object();
	json_t *remarks = json_array();

	for (size_t i = 0; i < import->n_remarks; i++)
		json_array_append_new(remarks,
			json_pack("{s:i,s:s}", "line", (int)import->remarks[i].line,
				"text", import->remarks[i].text));
	json_object_set_new(object, "format", json_string(import->format->name));
	json_object_set_new(object, "layout", json_string(layout));
	json_object_set_new(object, "remarks", remarks);
	return clv_output_value("json", object);
}

static int print_layout(
	const struct import_settings *settings, const struct clv_import *import)
{
	_cleanup_free_ char *text = NULL;
	struct clv_error err;
	int r;

	if (clv_layout_write(&import->layout, &text, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	if (settings->common.output && strcmp(settings->common.output, "json") == 0)
		r = print_object(import, text);
	else
		r = fputs(text, stdout) < 0 || fflush(stdout) < 0 ? -1 : 0;
	if (r < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the layout: %m");
	return 0;
}

static int run_import(const void *userdata, int argc, char **argv)
{
	const struct import_settings *settings = userdata;
	const struct clv_import_options options = {.select = settings->select};
	CLV_CLEANUP(clv_yaml_freep) struct clv_yaml *document = NULL;
	_cleanup_input_ struct clv_input input = {};
	struct clv_import import = {0};
	struct clv_error err;
	int r;

	if (settings->format && !is_format(settings->format))
		return fail_format(settings->format);
	r = clv_input_read(argv[0], CLV_YAML_MAX_BYTES, &input);
	if (r)
		return r;
	if (clv_import_parse(input.text, input.n_bytes, input.name, &document, &err) <
			0 ||
		clv_import(settings->format, document, &options, &import, &err) < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	print_remarks(&import);
	r = print_layout(settings, &import);
	clv_import_clear(&import);
	return r;
}

static const struct clv_opt options[] = {
	{
		.name = "format",
		.letter = 'f',
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct import_settings, format),
		.argument = "FORMAT",
		.help = "The format of the file: mig-parted, device-plugin, "
			"device-config-manager or compose; by default it is recognized "
			"by its content",
	},
	{
		.name = "select",
		.letter = 's',
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct import_settings, select),
		.argument = "NAME",
		.help = "The configuration to convert, if the file has several",
	},
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT_LAYOUT,
};

const struct clv_verb clv_verb_import = {
	.name = "import",
	.arguments = "FILE",
	.summary = "convert another tool's file to a layout",
	.about = "Prints the layout. Remarks on settings that a layout cannot express, "
		 "and what to do instead, go to standard error with their line. "
		 "Nothing is applied.",
	.settings_bytes = sizeof(struct import_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = 1,
	.completes = CLV_COMPLETE_FILE,
	.run = run_import,
};
