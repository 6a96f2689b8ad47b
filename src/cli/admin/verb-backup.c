/* SPDX-License-Identifier: Apache-2.0 */
/* cleave backup and cleave restore: save the agent's state to a file, and restore it. */
#include "cli/frame/verbs.h"

#include "base/error.h"
#include "base/file.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STATE_MAX_BYTES (UINT64_C(1) << 30)

struct restore_settings {
	struct clv_common common;
	bool system;
};

static int copy_to(const char *from, const char *to)
{
	_cleanup_free_ char *data = NULL;
	struct clv_error err = {};
	size_t n_bytes;
	FILE *out;
	int fd;

	if (clv_file_read_all(from, STATE_MAX_BYTES, &data, &n_bytes, &err) < 0)
		return clv_cli_fail(CLV_EXIT_NOT_PERMITTED,
			"the backup is in %s and cannot be copied from there: %s", from,
			err.msg);
	/* The backup has hashes of tokens. */
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return clv_cli_fail(CLV_EXIT_FAILED,
			"the backup is in %s; %s cannot be written (%m): name a new file",
			from, to);
	if (fwrite(data, 1, n_bytes, out) != n_bytes || fclose(out) != 0)
		return clv_cli_fail(CLV_EXIT_FAILED,
			"the backup is in %s; %s cannot be written (%m)", from, to);
	return CLV_EXIT_OK;
}

static int run_backup(const void *userdata, int argc, char **argv)
{
	const struct clv_common *settings = userdata;
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *backup = NULL;
	struct clv_client_error err;
	int r = clv_cli_connect(settings, true, &client);

	if (r)
		return r;
	if (clv_client_backup(client, &backup, &err) < 0)
		return clv_cli_fail_client(&err);
	if (argc > 0)
		return copy_to(clv_json_text(backup, "path"), argv[0]);
	printf("%s\n", clv_json_text(backup, "path"));
	return CLV_EXIT_OK;
}

/* Executes the agent's program, which knows the format and checks that no agent uses the
 * state. */
static int run_restore(const void *userdata, int argc, char **argv)
{
	const struct restore_settings *settings = userdata;
	char program[CLV_CLIENT_PATH_MAX], restore[] = "--restore",
					   system_wide[] = "--system";
	char *const arguments[] = {
		program, restore, argv[0], settings->system ? system_wide : NULL, NULL};
	struct clv_client_error err;

	if (clv_client_agent_program(program, &err) < 0)
		return clv_cli_fail_client(&err);
	execv(program, arguments);
	return clv_cli_fail(CLV_EXIT_FAILED, "cannot start %s: %m", program);
}

static const struct clv_opt backup_options[] = {
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

static const struct clv_opt restore_options[] = {
	{
		.name = "system",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct restore_settings, system),
		.help = "Restore the state of the system's agent instead of your own",
	},
	CLV_OPT_HELP,
};

const struct clv_verb clv_verb_backup = {
	.name = "backup",
	.arguments = "[FILE]",
	.summary = "back up the state of the running agent",
	.about = "The backup is a file in the agent's state folder, whose path is "
		 "printed; with FILE it is copied there. Only an admin may do this.",
	.settings_bytes = sizeof(struct clv_common),
	.options = backup_options,
	.n_options = CLV_ARRAY_SIZE(backup_options),
	.max_arguments = 1,
	.completes = CLV_COMPLETE_FILE,
	.run = run_backup,
};

const struct clv_verb clv_verb_restore = {
	.name = "restore",
	.arguments = "FILE",
	.summary = "replace the agent's state with a backup",
	.about = "The agent must be stopped. The replaced state is kept beside the new "
		 "one. At the next start leases whose programs are gone end, and the "
		 "state of the hardware takes precedence.",
	.settings_bytes = sizeof(struct restore_settings),
	.options = restore_options,
	.n_options = CLV_ARRAY_SIZE(restore_options),
	.min_arguments = 1,
	.max_arguments = 1,
	.completes = CLV_COMPLETE_FILE,
	.run = run_restore,
};
