/* SPDX-License-Identifier: Apache-2.0 */
/* cleave slurm: commands for Slurm's plugin, its scripts and its administrators. */
#include "cli/frame/verbs.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/slurm/ask.h"
#include "bridge/slurm/gres.h"
#include "bridge/slurm/recipe.h"
#include "cli/engine/slurm-job.h"
#include "cli/engine/slurm-layout.h"
#include "cli/frame/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct part_verb {
	const char *name;
	const char *arguments;
	int min_arguments, max_arguments;
	bool is_of_job;
	int (*run)(const struct clv_slurm_settings *settings, int argc, char **argv);
};

/* The node's name for Slurm: the host name up to the first dot. */
static int find_node(const struct clv_slurm_settings *s, char *ret, size_t ret_bytes)
{
	if (s->node)
		snprintf(ret, ret_bytes, "%s", s->node);
	else if (gethostname(ret, ret_bytes) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED,
			"this machine has no host name (%m): name the node with --node");
	ret[ret_bytes - 1] = '\0';
	ret[strcspn(ret, ".")] = '\0';
	return 0;
}

static int run_conf(const struct clv_slurm_settings *s, int argc, char **argv)
{
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *node = NULL;
	struct clv_client_error err;
	char name[65];
	struct clv_slurm_gres how = {.node = name, .root = ""};
	int r = find_node(s, name, sizeof(name));

	if (!r)
		r = clv_cli_connect(&s->request.common, true, &client);
	if (r)
		return r;
	if (clv_client_node(client, &node, &err) < 0)
		return clv_cli_fail_client(&err);
	clv_slurm_gres_write(stdout, &how, node);
	if (fflush(stdout) != 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write: %m");
	return 0;
}

static int run_begin(const struct clv_slurm_settings *s, int argc, char **argv)
{
	if (!s->user || !s->pid)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"begin needs the job's user and the process to admit: add "
			"--user=UID and --pid=PID");
	return clv_slurm_job_begin(s);
}

static int run_account(const struct clv_slurm_settings *s, int argc, char **argv)
{
	return clv_slurm_job_account(s);
}

static int run_again(const struct clv_slurm_settings *s, int argc, char **argv)
{
	struct clv_error err;

	if (clv_slurm_requeue((unsigned int)s->job, s->hold, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	return 0;
}

static int run_end(const struct clv_slurm_settings *s, int argc, char **argv)
{
	return clv_slurm_job_end(s);
}

static int run_sweep(const struct clv_slurm_settings *s, int argc, char **argv)
{
	return clv_slurm_job_sweep(s);
}

static int run_prolog(const struct clv_slurm_settings *s, int argc, char **argv)
{
	return clv_slurm_layout_prolog(s, argv[0]);
}

static int run_epilog(const struct clv_slurm_settings *s, int argc, char **argv)
{
	return clv_slurm_layout_epilog(s);
}

/* clang-format off */
static const struct part_verb verbs[] = {
	{ "conf",    "",       0, 0, false, run_conf },
	{ "prolog",  "LAYOUT", 1, 1, true,  run_prolog },
	{ "epilog",  "",       0, 0, true,  run_epilog },
	{ "begin",   "",       0, 0, true,  run_begin },
	{ "account", "",       0, 0, true,  run_account },
	{ "again",   "",       0, 0, true,  run_again },
	{ "end",     "",       0, 0, true,  run_end },
	{ "sweep",   "",       0, 0, false, run_sweep },
};
/* clang-format on */

/* Slurm's scripts have the job's number in their environment. */
static int find_job(struct clv_slurm_settings *s)
{
	const char *said = getenv("SLURM_JOB_ID");

	if (!s->job && said)
		s->job = strtoul(said, NULL, 10);
	if (s->job > 0 && s->job <= UINT32_MAX)
		return 0;
	return clv_cli_fail(CLV_EXIT_USAGE,
		"no job is given: add --job=NUMBER, or run this in a script of Slurm's, "
		"which has SLURM_JOB_ID");
}

static int run_part(const struct part_verb *verb, const struct clv_slurm_settings *s,
	int argc, char **argv)
{
	struct clv_slurm_settings settings = *s;
	int r;

	if (argc < verb->min_arguments || argc > verb->max_arguments)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"write cleave slurm %s [OPTION...]%s%s", verb->name,
			verb->arguments[0] ? " " : "", verb->arguments);
	if (!settings.state)
		settings.state = CLV_SLURM_STATE;
	if (verb->is_of_job && (r = find_job(&settings)))
		return r;
	return verb->run(&settings, argc, argv);
}

static int run_slurm(const void *userdata, int argc, char **argv)
{
	const struct clv_slurm_settings *s = userdata;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, argv[0]) == 0)
			return run_part(&verbs[i], s, argc - 1, argv + 1);
	}
	return clv_cli_fail(CLV_EXIT_USAGE,
		"'%.40s' is not a command of cleave slurm: write conf, prolog, epilog, "
		"begin, account, again, end or sweep",
		argv[0]);
}

static const struct clv_opt options[] = {
	{
		.name = "job",
		.letter = 'j',
		.type = CLV_OPT_COUNT,
		.offset = CLV_OPT_AT(struct clv_slurm_settings, job),
		.argument = "NUMBER",
		.help = "The number of the job (default SLURM_JOB_ID)",
	},
	{
		.name = "node",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct clv_slurm_settings, node),
		.argument = "NAME",
		.help = "This node's name for Slurm (default the host name)",
	},
	{
		.name = "state",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct clv_slurm_settings, state),
		.argument = "FOLDER",
		.completes = CLV_COMPLETE_FILE,
		.help = "The folder of the jobs' files on this node (default "
			"/run/cleave-slurm)",
	},
	CLV_OPT_LEASE_SHARE(struct clv_lease_settings,
		"begin: the share of the job's lease, as for cleave run"),
	CLV_OPT_LEASE_MEMORY(struct clv_lease_settings, "begin: its memory quota"),
	CLV_OPT_LEASE_CLASS(struct clv_lease_settings,
		"begin: its class, latency, normal (the default) or batch"),
	{
		.name = "profile",
		.letter = 'p',
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct clv_lease_settings, profile),
		.argument = "PROFILE",
		.help = "begin: use a partition of this profile",
	},
	{
		.name = "user",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct clv_slurm_settings, user),
		.argument = "UID",
		.help = "begin: the uid of the job's user",
	},
	{
		.name = "pid",
		.type = CLV_OPT_COUNT,
		.offset = CLV_OPT_AT(struct clv_slurm_settings, pid),
		.argument = "PID",
		.help = "begin: the process to admit to the lease, with its children",
	},
	{
		.name = "restarts",
		.type = CLV_OPT_COUNT,
		.offset = CLV_OPT_AT(struct clv_slurm_settings, restarts),
		.argument = "N",
		.help = "begin: how often the job was requeued (SLURM_RESTART_COUNT)",
	},
	{
		.name = "kept",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct clv_slurm_settings, kept),
		.argument = "FOLDER",
		.completes = CLV_COMPLETE_FILE,
		.help = "prolog, epilog: the folder of the saved layouts (default "
			"/var/lib/cleave-slurm)",
	},
	{
		.name = "unrequested",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct clv_slurm_settings, unrequested),
		.argument = "WHAT",
		.help = "begin: the job has no option of cleave: deny, or lease (the "
			"lease of the other options), unless it has Slurm's own GPUs",
	},
	{
		.name = "hold",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct clv_slurm_settings, hold),
		.help = "again: hold the job until it is released by scontrol",
	},
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_slurm = {
	.name = "slurm",
	.arguments = "conf|prolog LAYOUT|epilog|begin|account|again|end|sweep",
	.summary = "commands for Slurm's scripts and its plugin",
	.about = "conf prints the lines for gres.conf and slurm.conf on this node; "
		 "prolog and epilog divide the node for an exclusive job, and restore "
		 "it. The SPANK plugin calls the others: begin creates the job's lease "
		 "or admits a step to it, account writes its seconds into the job's "
		 "comment, again requeues the job, end ends its lease, sweep ends the "
		 "leases of jobs that are over.",
	.settings_bytes = sizeof(struct clv_slurm_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = 2,
	.completes = CLV_COMPLETE_FILE,
	.run = run_slurm,
};
