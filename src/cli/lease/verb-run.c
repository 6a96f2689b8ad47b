/* SPDX-License-Identifier: Apache-2.0 */
/* cleave run: runs a program in a lease (cli/launch/launch.h).  The gate in the program
 * enforces the share; this process enforces nothing. */
#include "cli/frame/verbs.h"

#include "cli/frame/cli.h"
#include "cli/launch/launch.h"
#include "cli/launch/lease-request.h"

static const char *const if_no_agent_choices[] = {"open", "closed", NULL};

static const struct clv_opt options[] = {
	CLV_LEASE_OPTIONS,
	{
		.name = "lease",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct clv_launch_settings, lease),
		.argument = "NAME|ID",
		.completes = CLV_COMPLETE_LEASE,
		.help = "Join this lease, which exists already and stays, as cleave "
			"reserve creates it",
	},
	CLV_OPT_LEASE_TIME(struct clv_lease_settings,
		"End the program and release the lease after this time, as 2h"),
	CLV_OPT_LEASE_WAIT(struct clv_lease_settings,
		"If the lease does not fit now, queue for it, for at most TIMEOUT (as "
		"30s or 5m); the position is shown, and Ctrl-C leaves the queue"),
	{
		.name = "if-no-agent",
		.type = CLV_OPT_CHOICE,
		.offset = CLV_OPT_AT(struct clv_launch_settings, if_no_agent),
		.argument = "open|closed",
		.choices = if_no_agent_choices,
		.help = "Without an agent: open runs the program without a share, closed "
			"(the default) shows it no device",
	},
	{
		.name = "allow-ungated",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct clv_launch_settings, allow_ungated),
		.help = "Start even a program that no gate can be loaded into; the share "
			"is then not enforced on it, nor on programs that drop their "
			"environment",
	},
	{
		.name = "no-namespace",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct clv_launch_settings, no_namespace),
		.help = "Make no mount namespace; the share is then not enforced on "
			"programs that drop their environment",
	},
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

/* --lease joins an existing lease: options that size or place a new one are rejected. */
static int check_joined(const struct clv_launch_settings *s)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(options); i++) {
		bool is_of_new = options[i].offset >= sizeof(struct clv_common) &&
				 options[i].offset < sizeof(struct clv_lease_settings);

		if (is_of_new && clv_opt_is_given(&options[i], s))
			return clv_cli_fail(CLV_EXIT_USAGE,
				"--lease joins an existing lease: leave out the options "
				"that size or place a new one, and see cleave set to "
				"change it");
	}
	return 0;
}

static int run_run(const void *userdata, int argc, char **argv)
{
	const struct clv_launch_settings *s = userdata;
	struct clv_client_lease_request request = clv_lease_request(&s->request);
	int r = s->lease ? check_joined(s) : clv_lease_request_check(&s->request);

	return r ? r : clv_launch(s, argv, &request, NULL);
}

const struct clv_verb clv_verb_run = {
	.name = "run",
	.arguments = "[--] PROGRAM [ARGUMENT...]",
	.summary = "run a program inside a share of a device",
	.about = "The share is promised to the program and all processes that it starts, "
		 "and is released when the last of them has ended. Needs --share, "
		 "--memory or both; with --profile or --count alone the program has "
		 "whole partitions or devices. Starts the user's agent if none runs. "
		 "Exits with the program's code, or 128+N when signal N ended it.",
	.settings_bytes = sizeof(struct clv_launch_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_PROGRAM,
	.is_wrapper = true,
	.run = run_run,
};
