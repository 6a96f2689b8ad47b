/* SPDX-License-Identifier: Apache-2.0 */
/* cleave release: ends leases.  A lease with attached processes is refused with their
 * list unless --force is given, so that a mistyped name does not end running work. */
#include "cli/frame/verbs.h"

#include "cli/frame/cli.h"

#include <stdio.h>
#include <string.h>

struct release_settings {
	struct clv_common common;
	bool force;
};

static void list_processes(const json_t *processes, char *ret, size_t ret_bytes)
{
	json_t *process;
	size_t i, used = 0;

	ret[0] = '\0';
	json_array_foreach (processes, i, process) {
		if (used + 32 > ret_bytes) {
			snprintf(ret + used, ret_bytes - used, ", ...");
			return;
		}
		used += (size_t)snprintf(ret + used, ret_bytes - used, "%s%.0f",
			i ? ", " : "", clv_json_number(process, "pid"));
	}
}

static int release_one(struct clv_client *client, const char *name, bool force)
{
	_cleanup_json_ json_t *lease = NULL;
	struct clv_client_error err;
	const json_t *processes;
	char pids[256];

	if (clv_client_lease(client, name, &lease, &err) < 0)
		return clv_cli_fail_named(name, &err);
	processes = json_object_get(lease, "processes");
	if (!force && json_array_size(processes) > 0) {
		list_processes(processes, pids, sizeof(pids));
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"the lease '%.64s' has attached processes (%s): end them, or add "
			"--force to have them ended",
			clv_json_text(lease, "name"), pids);
	}
	if (clv_client_lease_release(client, clv_json_text(lease, "id"), force, &err) < 0)
		return clv_cli_fail_client(&err);

	return CLV_EXIT_OK;
}

static int run_release(const void *userdata, int argc, char **argv)
{
	const struct release_settings *settings = userdata;
	_cleanup_client_ struct clv_client *client = NULL;
	int result = CLV_EXIT_OK, r = clv_cli_connect(&settings->common, false, &client);

	if (r)
		return r;
	for (int i = 0; i < argc; i++) {
		r = release_one(client, argv[i], settings->force);
		if (r && !result)
			result = r;
	}
	return result;
}

static const struct clv_opt options[] = {
	{
		.name = "force",
		.letter = 'f',
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct release_settings, force),
		.help = "End the attached processes first: SIGTERM, and SIGKILL after 5 "
			"seconds",
	},
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_release = {
	.name = "release",
	.arguments = "NAME|ID...",
	.summary = "end leases and free what they hold",
	.about = "A lease with attached processes is refused, with their list, unless "
		 "--force is given. Given several names, each is tried; the exit code "
		 "is that of the first failure.",
	.settings_bytes = sizeof(struct release_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_LEASE,
	.run = run_release,
};
