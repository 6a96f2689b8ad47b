/* SPDX-License-Identifier: Apache-2.0 */
/* cleave run: a program in a lease of its own (cli/launch/launch.h).  What holds the
 * program is the gate; nothing is enforced here. */
#include "cli/frame/verbs.h"

#include "cli/frame/cli.h"
#include "cli/launch/launch.h"
#include "cli/launch/lease-request.h"

#include <string.h>

/* What a lease that is there is, it is: nothing can be asked of it here. */
static int check_joined(const struct clv_settings *s)
{
	struct clv_settings other = {.socket = s->socket,
		.sim = s->sim,
		.lease = s->lease,
		.if_no_agent = s->if_no_agent,
		.allow_ungated = s->allow_ungated,
		.no_namespace = s->no_namespace};

	if (memcmp(s, &other, sizeof(other)) == 0)
		return 0;
	return clv_cli_fail(CLV_EXIT_USAGE,
		"--lease names a lease that is there, with a size and a place: leave out "
		"what would make another, and see cleave set to change it");
}

static int run_run(const struct clv_settings *s, int argc, char **argv)
{
	struct clv_client_lease_request request = clv_lease_request(s);
	int r = s->lease ? check_joined(s) : clv_lease_request_check(s);

	return r ? r : clv_launch(s, argv, &request, NULL);
}

static const char *const if_no_agent_choices[] = {"open", "closed", NULL};

static const struct clv_opt options[] = {
	CLV_LEASE_OPTIONS,
	{
		.name = "lease",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(lease),
		.argument = "NAME|ID",
		.completes = CLV_COMPLETE_LEASE,
		.help = "In this lease, which is there already and stays, as cleave "
			"reserve makes it",
	},
	CLV_OPT_LEASE_TIME(
		"After so long, as 2h, the program is ended and the lease given back"),
	CLV_OPT_LEASE_WAIT(
		"When it does not fit now, queue for it, at most TIMEOUT long (as "
		"30s or 5m); the place in the queue is shown, and Ctrl-C leaves it"),
	{
		.name = "if-no-agent",
		.type = CLV_OPT_CHOICE,
		.offset = CLV_OPT_AT(if_no_agent),
		.argument = "open|closed",
		.choices = if_no_agent_choices,
		.help = "Without an agent: open runs the program without a share, closed "
			"(the default) shows it no device",
	},
	{
		.name = "allow-ungated",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(allow_ungated),
		.help = "On an NVIDIA GPU, start even a program that no gate can be "
			"loaded into; it is then not held to the share, nor are those "
			"that drop their environment",
	},
	{
		.name = "no-namespace",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(no_namespace),
		.help = "Make no mount namespace; programs that drop their environment "
			"are then not held to the share",
	},
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_run = {
	.name = "run",
	.arguments = "[--] PROGRAM [ARGUMENT...]",
	.summary = "run a program inside a share of a device",
	.about = "The share is promised to the program and all processes that it starts, "
		 "and is given back when the last of them has ended. Needs --share, "
		 "--memory or both; with --profile or --count alone a partition or "
		 "device is all the program's. Starts the user's agent when none runs. "
		 "Exits with the program's code, or 128+N when signal N ended it.",
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_PROGRAM,
	.is_wrapper = true,
	.run = run_run,
};
