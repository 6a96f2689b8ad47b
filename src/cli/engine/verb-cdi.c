/* SPDX-License-Identifier: Apache-2.0 */
/* cleave cdi: describes leases as CDI devices, for container runtimes. */
#include "cli/frame/verbs.h"

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "bridge/cdi/driver.h"
#include "bridge/cdi/reserve.h"
#include "bridge/cdi/spec.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/signals.h"
#include "cli/launch/program.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define SPECS "/var/run/cdi"
#define DEFAULT_FILE SPECS "/cleave.json"
#define WAIT_MS 60000
#define AGENT_PAUSE_MS 500
#define HOOK "cleave-cdi-hook"

struct cdi_settings {
	struct clv_common common;
	const char *to, *driver_root;
	bool reserve;
};

struct host {
	char gates[CLV_PATH_MAX], hook[CLV_PATH_MAX + 32];
	struct clv_cdi_host paths;
	struct clv_error left_out; /* why leases are left out, as it was printed last */
};

static void forget_host(struct host *host)
{
	clv_cdi_driver_free(host->paths.driver);
}

/* Finds the gates, and the hook beside them or in a build tree. */
static int find_host(const struct cdi_settings *settings, struct host *ret)
{
	static const char *const places[] = {"", "/../bridge/cdi"};
	const char *root = settings->driver_root ? settings->driver_root : "/";
	struct clv_cdi_driver *driver = NULL;
	struct clv_error err;

	if (clv_program_find_gate(ret->gates, sizeof(ret->gates), &err) < 0 ||
		clv_cdi_driver_new(root, SPECS, &driver, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	ret->paths.driver = driver;
	*strrchr(ret->gates, '/') = '\0';
	for (size_t i = 0; i < CLV_ARRAY_SIZE(places); i++) {
		char path[CLV_PATH_MAX + 64], real[CLV_PATH_MAX];

		snprintf(path, sizeof(path), "%s%s/" HOOK, ret->gates, places[i]);
		if (!realpath(path, real) || access(real, X_OK) < 0)
			continue;
		snprintf(ret->hook, sizeof(ret->hook), "%s", real);
		ret->paths.gates = ret->gates;
		ret->paths.hook = ret->hook;
		return 0;
	}
	return clv_cli_fail(CLV_EXIT_FAILED,
		"%s is not beside the gates in %s: install cleave completely", HOOK,
		ret->gates);
}

/* Makes the specification, which the caller frees; NULL with *err set. */
static char *make_text(const struct cdi_settings *settings, struct clv_client *client,
	struct host *host, struct clv_client_error *err)
{
	_cleanup_json_ json_t *leases = NULL, *spec = NULL;
	struct clv_error why = {};
	char *text = NULL;
	int r;

	if (settings->reserve && clv_cdi_reserve(client, err) < 0)
		return NULL;
	if (clv_client_leases(client, &leases, err) < 0)
		return NULL;
	r = clv_cdi_spec(json_object_get(leases, "items"), &host->paths, &spec, &why);
	if (r > 0 && strcmp(why.msg, host->left_out.msg) != 0)
		clv_output_line(
			stderr, "cleave: leases that are left out: %d; %s", r, why.msg);
	host->left_out = why;
	if (r >= 0)
		text = json_dumps(spec, JSON_INDENT(2));
	if (!text)
		snprintf(err->msg, sizeof(err->msg), "no memory for the specification");
	return text;
}

static int write_file(const char *path, const char *text)
{
	char folder[CLV_PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct clv_error err;
	int r = 0;

	if (slash && slash > path) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		r = clv_path_make(folder, 0755, &err);
	}
	if (r >= 0)
		r = clv_file_replace(path, text, &err);
	return r < 0 ? clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg) : 0;
}

static int run_generate(const struct cdi_settings *settings)
{
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_free_ char *text = NULL;
	struct clv_client_error err = {0};
	CLV_CLEANUP(forget_host) struct host host = {};
	int r = find_host(settings, &host);

	if (!r)
		r = clv_cli_connect(&settings->common, true, &client);
	if (r)
		return r;
	text = make_text(settings, client, &host, &err);
	if (!text)
		return clv_cli_fail_client(&err);
	if (settings->to)
		return write_file(settings->to, text);
	printf("%s\n", text);
	return CLV_EXIT_OK;
}

struct watch {
	const struct cdi_settings *settings;
	const char *path;
	struct host host;
	struct clv_client *client;
	char *written; /* NULL: not yet */
	uint64_t after_id;
	int signal_fd;
};

/* Writes the file if it has changed.  Returns 0, an exit code after printing why the file
 * cannot be written, or -1 with *err set if the agent did not answer. */
static int bring_up_to_date(struct watch *watch, struct clv_client_error *err)
{
	char *text = make_text(watch->settings, watch->client, &watch->host, err);
	int r = 0;

	if (!text)
		return -1;
	if (!watch->written || strcmp(watch->written, text) != 0) {
		r = write_file(watch->path, text);
		clv_output_line(stderr, "cleave: %s %s", watch->path,
			watch->written ? "was updated" : "was written");
		free(watch->written);
		watch->written = CLV_TAKE(text);
	}
	free(text);
	return r;
}

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

		r = bring_up_to_date(watch, &err);
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
			clv_output_line(
				stderr, "cleave: %s; waiting for the agent", err.msg);
		is_silent = true;
		if (is_told_to_end(watch, AGENT_PAUSE_MS))
			break;
		clv_client_reconnect(watch->client, NULL);
	}
	return CLV_EXIT_OK;
}

static int run_watch(const struct cdi_settings *settings)
{
	struct clv_client_options options = clv_cli_options(&settings->common, true);
	struct watch watch = {
		.settings = settings, .path = settings->to ? settings->to : DEFAULT_FILE};
	struct clv_client_error err;
	int r = find_host(settings, &watch.host);

	if (r) {
		forget_host(&watch.host);
		return r;
	}
	watch.signal_fd = clv_signals_watch(NULL);
	if (watch.signal_fd < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot watch signals: %s",
			strerror(-watch.signal_fd));
	options.interrupt_fd = watch.signal_fd;
	if (clv_client_new(&options, &watch.client, &err) < 0)
		r = clv_cli_fail_client(&err);
	else
		r = follow(&watch);
	clv_client_free(watch.client);
	forget_host(&watch.host);
	free(watch.written);
	close(watch.signal_fd);
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
