/* SPDX-License-Identifier: Apache-2.0 */
/* cleave cordon, drain, uncordon: take devices out of service, as for an update of the
 * driver, and return them. */
#include "cli/frame/verbs.h"

#include "base/clock.h"
#include "cli/frame/cli.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LOOK_EVERY_NS 500000000

struct cordon_settings {
	struct clv_common common;
	const char *reason;
	bool force;
};

static int change_one(struct clv_client *client, const char *name,
	const struct clv_client_service *service)
{
	_cleanup_json_ json_t *device = NULL;
	struct clv_client_error err;

	if (clv_client_device_service(client, name, service, &device, &err) < 0)
		return clv_cli_fail_client(&err);
	return CLV_EXIT_OK;
}

/* The names of partitions begin with that of their device. */
static int check_names(const char *action, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (strchr(argv[i], '/'))
			return clv_cli_fail(CLV_EXIT_USAGE,
				"'%.100s' is a partition, and only whole devices are "
				"taken out of service: cleave %s %.*s",
				argv[i], action, (int)strcspn(argv[i], "/"), argv[i]);
	}
	return 0;
}

static int change_all(
	const struct cordon_settings *settings, const char *action, int argc, char **argv)
{
	_cleanup_client_ struct clv_client *client = NULL;
	struct clv_client_service service = {
		.action = action, .reason = settings->reason, .force = settings->force};
	int r = check_names(action, argc, argv);

	if (!r)
		r = clv_cli_connect(&settings->common, true, &client);

	for (int i = 0; i < argc && !r; i++)
		r = change_one(client, argv[i], &service);
	return r;
}

static int run_cordon(const void *userdata, int argc, char **argv)
{
	const struct cordon_settings *settings = userdata;
	return change_all(settings, "cordon", argc, argv);
}

static int run_uncordon(const void *userdata, int argc, char **argv)
{
	const struct cordon_settings *settings = userdata;
	return change_all(settings, "uncordon", argc, argv);
}

/* Counts the active leases on the devices and their partitions; -1 if the agent does not
 * answer. */
static long count_leases(struct clv_client *client, int argc, char **argv)
{
	long n = 0;

	for (int i = 0; i < argc; i++) {
		_cleanup_json_ json_t *list = NULL;

		if (clv_client_leases_on(client, argv[i], &list, NULL) < 0)
			return -1;
		n += (long)json_array_size(json_object_get(list, "items"));
	}
	return n;
}

/* Waits until the devices have no lease.  Ctrl-C ends the wait and leaves the devices
 * cordoned. */
static int wait_for_end(const struct cordon_settings *settings, int argc, char **argv)
{
	struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};
	_cleanup_client_ struct clv_client *client = NULL;
	long n, before = -1;
	int r = clv_cli_connect(&settings->common, true, &client);

	if (r)
		return r;
	while ((n = count_leases(client, argc, argv)) > 0) {
		if (n != before)
			fprintf(stderr, "cleave: %ld lease%s still there\n", n,
				n == 1 ? " is" : "s are");
		before = n;
		nanosleep(&pause, NULL);
	}
	return n < 0 ? clv_cli_fail(CLV_EXIT_UNREACHABLE,
			       "the agent does not list the leases that are left: see "
			       "cleave ps")
		     : CLV_EXIT_OK;
}

static int run_drain(const void *userdata, int argc, char **argv)
{
	const struct cordon_settings *settings = userdata;
	int r = change_all(settings, "drain", argc, argv);

	return r ? r : wait_for_end(settings, argc, argv);
}

#define REASON                                                                     \
	{                                                                          \
		.name = "reason", .letter = 'r', .type = CLV_OPT_TEXT,             \
		.offset = CLV_OPT_AT(struct cordon_settings, reason),              \
		.argument = "TEXT",                                                \
		.help = "The reason, for users whose leases are refused meanwhile" \
	}

static const struct clv_opt cordon_options[] = {
	REASON,
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

static const struct clv_opt drain_options[] = {
	REASON,
	{
		.name = "force",
		.letter = 'f',
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct cordon_settings, force),
		.help = "Do not wait for programs to end: SIGTERM, and SIGKILL after 5 "
			"seconds",
	},
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

static const struct clv_opt uncordon_options[] = {
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_cordon = {
	.name = "cordon",
	.arguments = "DEVICE...",
	.summary = "take devices out of service for new leases",
	.about = "Running leases continue. The cordon holds until cleave uncordon, over "
		 "restarts of the agent and of the machine.",
	.settings_bytes = sizeof(struct cordon_settings),
	.options = cordon_options,
	.n_options = CLV_ARRAY_SIZE(cordon_options),
	.min_arguments = 1,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_DEVICE,
	.run = run_cordon,
};

const struct clv_verb clv_verb_drain = {
	.name = "drain",
	.arguments = "DEVICE...",
	.summary = "cordon devices and wait until nothing runs on them",
	.about = "With --force the agent ends the programs. The command returns when the "
		 "last lease has ended; Ctrl-C ends the wait and leaves the devices "
		 "cordoned.",
	.settings_bytes = sizeof(struct cordon_settings),
	.options = drain_options,
	.n_options = CLV_ARRAY_SIZE(drain_options),
	.min_arguments = 1,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_DEVICE,
	.run = run_drain,
};

const struct clv_verb clv_verb_uncordon = {
	.name = "uncordon",
	.arguments = "DEVICE...",
	.summary = "return devices to service",
	.settings_bytes = sizeof(struct cordon_settings),
	.options = uncordon_options,
	.n_options = CLV_ARRAY_SIZE(uncordon_options),
	.min_arguments = 1,
	.max_arguments = -1,
	.completes = CLV_COMPLETE_DEVICE,
	.run = run_uncordon,
};
