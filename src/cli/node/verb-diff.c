/* SPDX-License-Identifier: Apache-2.0 */
/* cleave diff: compares the node with a layout, for people and for scripts that check for
 * drift. */
#include "cli/frame/verbs.h"

#include "cli/frame/cli.h"
#include "cli/node/plan-view.h"

static int run_diff(const void *userdata, int argc, char **argv)
{
	const struct clv_common *settings = userdata;
	_cleanup_json_ json_t *plan = NULL;
	int r = clv_plan_of_file(settings, argv[0], &plan);

	if (!r)
		r = clv_plan_show_difference(settings, plan);
	if (!r && clv_plan_count_steps(plan) > 0)
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
	.arguments = "FILE",
	.summary = "compare the node with a layout",
	.about = "Prints + for a partition that the node lacks, - for one that the "
		 "layout does not want, ~ for any other change. Exits with 0 if the "
		 "node matches the layout, with 1 if it differs.",
	.settings_bytes = sizeof(struct clv_common),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = 1,
	.completes = CLV_COMPLETE_FILE,
	.run = run_diff,
};
