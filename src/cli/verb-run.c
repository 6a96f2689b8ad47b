/* SPDX-License-Identifier: Apache-2.0 */
/* cleave run: a program in a lease of its own (cli/launch.h).  What holds the program is
 * the gate; nothing is enforced here. */
#include "cli/verbs.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/launch.h"

#include <string.h>

/* What the agent would refuse as well, in the words of its own fields. */
static int check_words(const struct clv_settings *s)
{
	bool is_isolated = s->isolation && strcmp(s->isolation, "hardware") == 0;
	bool is_sized = s->share.ppm || s->cap.ppm || s->memory_bytes || s->spill.bytes;

	if (s->same_device && !s->count)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--same-device is a word about several: add --count=N");
	if (s->count > 1 && (is_sized || s->sm_ppm || s->overcommit))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--count gives each device whole: leave out --share, --cap, "
			"--memory, --spill, --sm and --overcommit, or ask for one");
	if (s->count > 1 && (s->in || is_isolated))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--count goes with --device and --profile, not with --in or "
			"--isolation");
	if (s->in && (is_sized || s->class_name || s->device || s->profile))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--in names a standing share, which has its own size, class and "
			"place: leave out --share, --cap, --memory, --spill, --class, "
			"--device and --profile");
	if (is_isolated && (!s->memory_bytes || s->share.ppm || s->sm_ppm))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--isolation=hardware takes --memory=SIZE, no --share and no "
			"--sm: the partition is all the lease's own");
	return 0;
}

static int check_request(const struct clv_settings *s)
{
	int r = check_words(s);

	if (r)
		return r;
	if (!s->share.ppm && !s->memory_bytes && !s->profile && !s->in && !s->count)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"a share of what size? add --share=FRACTION (as 0.3), "
			"--memory=SIZE (as 512M), or both, or name a --profile");
	if (s->cap.ppm && s->share.ppm &&
		(s->cap.ppm < s->share.ppm || s->cap.ppm < s->share.most_ppm))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--cap is below --share: what is promised could never be had, so "
			"raise the cap or lower the share");
	return 0;
}

static int run_run(const struct clv_settings *s, int argc, char **argv)
{
	struct clv_client_lease_request request = {
		.name = s->name,
		.device = s->device,
		.profile = s->profile,
		.in = s->in,
		.isolation = s->isolation,
		.class_name = s->class_name,
		/* A partition without a word of a share is meant as a whole. */
		.share_ppm = (s->profile || s->count) && !s->share.ppm && !s->memory_bytes
				     ? CLV_PPM
				     : s->share.ppm,
		.share_most_ppm = s->share.most_ppm,
		.cap_ppm = s->cap.ppm,
		.memory_bytes = s->memory_bytes,
		.spill_bytes = s->spill.bytes,
		.wait = s->wait.is_given,
		.overcommit = s->overcommit,
		.count = (uint32_t)s->count,
		.same_device = s->same_device,
		.sm_ppm = s->sm_ppm,
		.time_s = (s->time_ns + CLV_NS_PER_S - 1) / CLV_NS_PER_S,
	};
	int r = check_request(s);

	return r ? r : clv_launch(s, argv, &request, NULL);
}

static const char *const isolation_choices[] = {"hardware", "gate", NULL};
static const char *const if_no_agent_choices[] = {"open", "closed", NULL};

static const struct clv_opt options[] = {
	CLV_OPT_LEASE_SHARE("The share of the device's compute, as 0.3, 30% or 6/20, or "
			    "a range, as 0.1..0.6, of which the least is promised and "
			    "within which the agent moves it by demand; without it, as "
			    "much as the memory is of the device's"),
	CLV_OPT_LEASE_MEMORY("The memory quota, as 512M or 1.5GiB; without it, the share "
			     "of the device's memory"),
	CLV_OPT_LEASE_SPILL("SIZE", "As much of the host's memory for what does not fit "
				    "the quota, at the bus's speed; CUDA programs on "
				    "NVIDIA GPUs"),
	CLV_OPT_LEASE_CAP(
		"FRACTION", "Never more than this share, even when the device is idle"),
	CLV_OPT_LEASE_CLASS("How fast it is served, never how much it gets: latency, "
			    "normal (the default) or batch"),
	{
		.name = "sm",
		.type = CLV_OPT_FRACTION,
		.offset = CLV_OPT_AT(sm_ppm),
		.argument = "FRACTION",
		.help = "Beside the share: at most this part, as 25%, of an NVIDIA GPU's "
			"multiprocessors or an AMD GPU's compute units at once; what "
			"nothing holds to it is said, in cleave ps and as an event",
	},
	{
		.name = "name",
		.letter = 'n',
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(name),
		.argument = "NAME",
		.help = "What to call the lease; without it a name is made from the "
			"program's",
	},
	CLV_OPT_LEASE_DEVICE,
	{
		.name = "profile",
		.letter = 'p',
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(profile),
		.argument = "PROFILE",
		.help = "Inside a partition of this shape, as 1g.10gb or cores:2; see "
			"cleave devices",
	},
	{
		.name = "count",
		.type = CLV_OPT_SEVERAL,
		.offset = CLV_OPT_AT(count),
		.argument = "N",
		.help = "So many devices, or partitions with --profile, all alike, "
			"each of them whole, as near to each other as can be",
	},
	{
		.name = "same-device",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(same_device),
		.help = "With --count: partitions of one device alone",
	},
	{
		.name = "in",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(in),
		.argument = "NAME",
		.help = "In this standing share, which a layout has set aside, as train "
			"or gpu0/train",
	},
	{
		.name = "isolation",
		.type = CLV_OPT_CHOICE,
		.offset = CLV_OPT_AT(isolation),
		.argument = "hardware|gate",
		.choices = isolation_choices,
		.help = "With hardware, --memory alone is enough: the smallest "
			"partition that has it is found or made, and goes with the "
			"lease; gate (the default) is a share",
	},
	{
		.name = "time",
		.letter = 't',
		.type = CLV_OPT_DURATION,
		.offset = CLV_OPT_AT(time_ns),
		.argument = "TIME",
		.help = "After so long, as 2h, the program is ended and the lease given "
			"back",
	},
	CLV_OPT_LEASE_WAIT(
		"When it does not fit now, queue for it, at most TIMEOUT long (as "
		"30s or 5m); the place in the queue is shown, and Ctrl-C leaves it"),
	{
		.name = "overcommit",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(overcommit),
		.help = "Take the share even when more than the whole device is promised "
			"then, if the node allows it",
	},
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
