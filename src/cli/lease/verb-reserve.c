/* SPDX-License-Identifier: Apache-2.0 */
/* cleave reserve: creates a kept lease, which does not end with a process. */
#include "cli/frame/verbs.h"

#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/launch/lease-request.h"

#include <pwd.h>
#include <stdlib.h>

struct reserve_settings {
	struct clv_lease_settings request;
	const char *admit;
	const char *user;
};

/* Looks the user up, by name or by number. */
static int find_user(const char *text, struct clv_client_lease_request *request)
{
	const struct passwd *user = getpwnam(text);
	char *end;
	unsigned long number = user ? user->pw_uid : strtoul(text, &end, 10);

	if (!user && (end == text || *end != '\0' || number >= UINT32_MAX))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"there is no user '%.40s': give a name that getent passwd knows, "
			"or a number",
			text);
	request->has_user = true;
	request->user = (uint32_t)number;
	return 0;
}

static int run_reserve(const void *userdata, int argc, char **argv)
{
	const struct reserve_settings *s = userdata;
	struct clv_client_lease_request request = clv_lease_request(&s->request);
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_json_ json_t *lease = NULL;
	struct clv_client_error err;
	int r = clv_lease_request_check(&s->request);

	request.keep = true;
	request.admit = s->admit;
	if (!r && s->user)
		r = find_user(s->user, &request);
	if (!r)
		r = clv_cli_connect(&s->request.common, true, &client);
	if (r)
		return r;
	if (clv_client_lease_create(client, &request, &lease, &err) < 0)
		return clv_cli_fail_client(&err);
	if (clv_output_object(&clv_listing_leases, s->request.common.output, lease) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the lease: %m");
	return CLV_EXIT_OK;
}

static const char *const admit_choices[] = {"holders", "socket", NULL};

static const struct clv_opt options[] = {
	CLV_LEASE_OPTIONS,
	{
		.name = "admit",
		.type = CLV_OPT_CHOICE,
		.offset = CLV_OPT_AT(struct reserve_settings, admit),
		.argument = "holders|socket",
		.choices = admit_choices,
		.help = "Which processes are admitted: holders (the default), those that "
			"cleave run starts in the lease; socket, those that reach its "
			"socket, as in a container that has it mounted",
	},
	{
		.name = "user",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct reserve_settings, user),
		.argument = "USER",
		.help = "Create the lease for this user (name or number); root only",
	},
	CLV_OPT_LEASE_TIME(struct clv_lease_settings,
		"End the lease and its programs after this time, as 2h"),
	CLV_OPT_LEASE_WAIT(struct clv_lease_settings,
		"If the lease does not fit now, queue it; cleave ps shows its place"),
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_reserve = {
	.name = "reserve",
	.summary = "create a lease that stays until it is released",
	.about = "The lease does not end with a process: programs use it one after the "
		 "other or at once, and cleave release ends it. It does not survive a "
		 "restart of the machine. Prints the lease.",
	.settings_bytes = sizeof(struct reserve_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 0,
	.max_arguments = 0,
	.run = run_reserve,
};
