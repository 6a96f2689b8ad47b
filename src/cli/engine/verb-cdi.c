/* SPDX-License-Identifier: Apache-2.0 */
/* cleave cdi: describes leases as CDI devices, for container runtimes. */
#include "cli/frame/verbs.h"

#include "base/cleanup.h"
#include "cli/engine/cdi-file.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/signals.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define WAIT_MS 60000
#define AGENT_PAUSE_MS 500

struct cdi_settings {
	struct clv_common common;
	const char *to, *driver_root;
	bool reserve;
};

static int run_generate(const struct cdi_settings *settings)
{
	_cleanup_client_ struct clv_client *client = NULL;
	CLV_CLEANUP(clv_cdi_file_free)
	struct clv_cdi_file file = {.path = settings->to, .reserves = settings->reserve};
	struct clv_client_error err = {0};
	int r = clv_cdi_file_init(&file, settings->driver_root);

	if (!r)
		r = clv_cli_connect(&settings->common, true, &client);
	if (r)
		return r;
	r = clv_cdi_file_update(&file, client, &err);
	return r < 0 ? clv_cli_fail_client(&err) : r;
}

struct watch {
	struct clv_cdi_file file;
	struct clv_client *client;
	uint64_t after_id;
	int signal_fd;
};

/* Waits for events and keeps the id of the last one; -1 if the agent did not answer. */
static int wait_for_events(struct watch *watch, struct clv_client_error *err)
{
	_cleanup_json_ json_t *page = NULL;
	const json_t *items, *last;

	if (clv_client_events(watch->client, watch->after_id, WAIT_MS, 0, &page, err) < 0)
		return -1;
	items = json_object_get(page, "items");
	last = json_array_get(items, json_array_size(items) - 1);
	if (last)
		watch->after_id =
			(uint64_t)json_integer_value(json_object_get(last, "id"));
	return 0;
}

static bool is_told_to_end(const struct watch *watch, int timeout_ms)
{
	struct pollfd wait = {.fd = watch->signal_fd, .events = POLLIN};

	return poll(&wait, 1, timeout_ms) > 0;
}

/* Runs until a signal comes, or the file cannot be written. */
static int follow(struct watch *watch)
{
	bool is_silent = false;
	int r = 0;

	while (!is_told_to_end(watch, 0)) {
		struct clv_client_error err = {0};

		r = clv_cdi_file_update(&watch->file, watch->client, &err);
		if (r > 0)
			return r;
		if (r == 0)
			r = wait_for_events(watch, &err);
		if (r == 0) {
			is_silent = false;
			continue;
		}
		if (err.error == -EINTR)
			break;
		if (!is_silent)
			clv_output_line(stderr, "cleave: %s; trying again", err.msg);
		is_silent = true;
		if (is_told_to_end(watch, AGENT_PAUSE_MS))
			break;
		clv_client_reconnect(watch->client, NULL);
	}
	return CLV_EXIT_OK;
}

static int run_until_told(struct watch *watch, const struct cdi_settings *settings)
{
	struct clv_client_options options = clv_cli_options(&settings->common, true);
	struct clv_client_error err;
	int r;

	watch->signal_fd = clv_signals_watch(NULL);
	if (watch->signal_fd < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot watch signals: %s",
			strerror(-watch->signal_fd));
	options.interrupt_fd = watch->file.interrupt_fd = watch->signal_fd;
	if (clv_client_new(&options, &watch->client, &err) < 0)
		r = clv_cli_fail_client(&err);
	else
		r = follow(watch);
	clv_client_free(watch->client);
	close(watch->signal_fd);
	return r;
}

static int run_watch(const struct cdi_settings *settings)
{
	const char *path = settings->to ? settings->to : CLV_CDI_FILE;
	struct watch watch = {.file = {.path = path,
				      .reserves = settings->reserve,
				      .says_changes = true}};
	_cleanup_close_ int watch_fd = -1;
	int r = clv_cdi_file_init(&watch.file, settings->driver_root);

	if (!r)
		r = clv_cdi_file_begin_watch(path, &watch_fd);
	if (!r)
		r = run_until_told(&watch, settings);
	clv_cdi_file_free(&watch.file);
	return r;
}

static const struct {
	const char *name;
	int (*run)(const struct cdi_settings *settings);
} verbs[] = {
	{"generate", run_generate},
	{"watch", run_watch},
};

static int run_cdi(const void *userdata, int argc, char **argv)
{
	const struct cdi_settings *settings = userdata;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, argv[0]) == 0)
			return verbs[i].run(settings);
	}
	return clv_cli_fail(CLV_EXIT_USAGE,
		"'%.40s' is not a command of cleave cdi: write generate or watch",
		argv[0]);
}

static const struct clv_opt options[] = {
	{
		.name = "to",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct cdi_settings, to),
		.argument = "FILE",
		.completes = CLV_COMPLETE_FILE,
		.help = "Write to this file instead of standard output (generate) or "
			"/var/run/cdi/cleave.json (watch)",
	},
	{
		.name = "reserve",
		.type = CLV_OPT_FLAG,
		.offset = CLV_OPT_AT(struct cdi_settings, reserve),
		.help = "First reserve a lease in each standing share and on each "
			"partition that has none, so that containers can use them",
	},
	{
		.name = "driver-root",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct cdi_settings, driver_root),
		.argument = "FOLDER",
		.completes = CLV_COMPLETE_FILE,
		.help = "Take NVIDIA's libraries from below this folder, such as "
			"/run/nvidia/driver; by default /",
	},
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_cdi = {
	.name = "cdi",
	.arguments = "generate|watch",
	.summary = "describe leases as devices for container runtimes",
	.about =
		"Each lease of cleave reserve --admit=socket is a device, "
		"cleave.dev/gpu=NAME, in a file that podman, Docker and containerd read. "
		"generate writes the file once; watch updates it whenever leases are "
		"created or end, until the command is ended.",
	.settings_bytes = sizeof(struct cdi_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run_cdi,
};
