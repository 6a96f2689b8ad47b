/* SPDX-License-Identifier: Apache-2.0 */
/* cleave plan: shows the steps of cleave apply, and what blocks them.  Changes nothing.
 */
#include "cli/frame/verbs.h"

#include "cli/frame/cli.h"
#include "cli/node/plan-view.h"

static int run_plan(const void *userdata, int argc, char **argv)
{
	const struct clv_plan_settings *settings = userdata;
	_cleanup_json_ json_t *plan = NULL;
	int r = clv_plan_of_file(&settings->common, argv[0], &plan);

	if (!r)
		r = clv_plan_show(settings, plan);
	if (!r && clv_plan_is_blocked(plan))
		r = clv_plan_fail_blocked(plan);
	return r;
}

static const struct clv_opt options[] = {
	CLV_OPT_EXPLAIN(struct clv_plan_settings),
	CLV_OPT_VERBOSE(struct clv_plan_settings,
		"Also list the partitions that stay, and the standing shares of the "
		"layout"),
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_plan = {
	.name = "plan",
	.arguments = "FILE",
	.summary = "show the steps from the current node to a layout",
	.about = "Changes nothing. Partitions that can stay do, and none that is in "
		 "use is destroyed: the holders that would have to end first are "
		 "listed, and the exit code is 75. FILE is a layout in YAML or JSON, - "
		 "for standard input.",
	.settings_bytes = sizeof(struct clv_plan_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = 1,
	.completes = CLV_COMPLETE_FILE,
	.run = run_plan,
};
