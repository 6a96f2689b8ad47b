/* SPDX-License-Identifier: Apache-2.0 */
/* cleave diff: compares the node with a layout, for people and for scripts that check for
 * drift. */
#include "cli/frame/verbs.h"

#include "cli/frame/cli.h"
#include "cli/frame/input.h"
#include "cli/frame/output.h"
#include "cli/node/plan-view.h"

#include <string.h>

/* Without a file: the kept layout, as far as it is not applied now. */
static int compare_wanted(const struct clv_common *settings)
{
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *wanted = NULL, *plan = NULL;
	struct clv_client_error err;
	size_t n_waiting;
	int r = clv_cli_connect(settings, true, &client);

	if (r)
		return r;
	if (clv_client_layout_get(client, true, &wanted, &err) < 0) {
		if (strcmp(err.code, "not_found") != 0)
			return clv_cli_fail_client(&err);
		return clv_cli_fail(clv_cli_exit_code(err.code),
			"no layout has been applied: name the file to compare with "
			"(cleave diff FILE), or apply it first (cleave apply FILE)");
	}
	r = clv_plan_show_wanted(settings, wanted, &n_waiting);
	if (r || n_waiting > 0 || clv_output_is_data(settings->output))
		return r ? r : n_waiting > 0 ? CLV_EXIT_FALSE : 0;
	/* It was applied everywhere: the node may have been changed since then. */
	r = clv_plan_fetch(client,
		&(struct clv_input){
			.text = (char *)(uintptr_t)clv_json_text(wanted, "resolved"),
			.n_bytes = strlen(clv_json_text(wanted, "resolved")),
			.name = "the kept layout"},
		&plan);
	if (!r)
		r = clv_plan_show_difference(settings, plan);
	if (!r && clv_plan_differs(plan))
		r = CLV_EXIT_FALSE;
	return r;
}

static int run_diff(const void *userdata, int argc, char **argv)
{
	const struct clv_common *settings = userdata;
	_cleanup_json_ json_t *plan = NULL;
	int r;

	if (argc == 0)
		return compare_wanted(settings);
	r = clv_plan_of_file(settings, argv[0], &plan);
	if (!r)
		r = clv_plan_show_difference(settings, plan);
	if (!r && clv_plan_differs(plan))
		r = CLV_EXIT_FALSE;
	return r;
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_diff = {
	.name = "diff",
	.arguments = "[FILE]",
	.summary = "compare the node with a layout",
	.about = "Prints + for a partition that the node lacks, - for one that the "
		 "layout does not want, ~ for any other change, and the same for "
		 "standing shares. Without a file the "
		 "layout is the kept one, of what was last applied to each device, and ! "
		 "is printed for a device where it is not applied. Exits with 0 if the "
		 "node matches the "
		 "layout, with 1 if it differs.",
	.settings_bytes = sizeof(struct clv_common),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.max_arguments = 1,
	.completes = CLV_COMPLETE_FILE,
	.run = run_diff,
};
