/* SPDX-License-Identifier: Apache-2.0 */
/* cleave reload: the running agent reads its settings and its certificate again. */
#include "cli/frame/verbs.h"

#include "base/cleanup.h"
#include "cli/frame/cli.h"

static int run(const void *userdata, int argc, char **argv)
{
	const struct clv_common *settings = userdata;
	_cleanup_client_ struct clv_client *client = NULL;
	struct clv_client_error err;
	int r = clv_cli_connect(settings, true, &client);

	if (r)
		return r;
	if (clv_client_reload(client, &err) < 0)
		return clv_cli_fail_client(&err);
	return CLV_EXIT_OK;
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_reload = {
	.name = "reload",
	.summary = "have the agent read its settings and certificate again",
	.about = "If the file has a mistake, or changes a setting that cannot change "
		 "while "
		 "the agent runs, nothing changes and the reason is printed. Only an "
		 "admin "
		 "may do this.",
	.settings_bytes = sizeof(struct clv_common),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.run = run,
};
