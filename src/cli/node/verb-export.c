/* SPDX-License-Identifier: Apache-2.0 */
/* cleave export: prints the node as a layout, which cleave apply restores. */
#include "cli/frame/verbs.h"

#include "cli/frame/cli.h"
#include "cli/frame/output.h"

#include <stdio.h>
#include <string.h>

struct export_settings {
	struct clv_common common;
	bool wanted;
};

static int run_export(const void *userdata, int argc, char **argv)
{
	const struct export_settings *settings = userdata;
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *answer = NULL;
	struct clv_client_error err;
	int r = clv_cli_connect(&settings->common, true, &client);

	if (r)
		return r;
	if (clv_client_layout_get(client, settings->wanted, &answer, &err) < 0)
		return clv_cli_fail_client(&err);
	if (settings->common.output && strcmp(settings->common.output, "json") == 0)
		r = clv_output_value("json", answer);
	else
		r = fputs(clv_json_text(answer, "layout"), stdout) < 0 ||
				    fflush(stdout) < 0
			    ? -1
			    : 0;
	if (r < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the layout: %m");
	return CLV_EXIT_OK;
}

static const struct clv_opt options[] = {
	{
		.name = "wanted",
		.letter = 'w',
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct export_settings, wanted),
		.help = "Print the kept layout, of what was last applied to each "
			"device, instead of the node",
	},
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT_LAYOUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_export = {
	.name = "export",
	.summary = "print the node as a layout",
	.about = "Each device is named by its UUID and each partition by its exact "
		 "place, with the standing shares, so that cleave apply restores exactly "
		 "this state.",
	.settings_bytes = sizeof(struct export_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.run = run_export,
};
