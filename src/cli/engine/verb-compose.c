/* SPDX-License-Identifier: Apache-2.0 */
/* cleave compose: the provider of a service in a compose file.  Docker Compose (2.36 and
 * later; docs/extension.md in its sources) calls
 *
 *	cleave compose --project-name=PROJECT up|down --OPTION=VALUE... SERVICE
 *
 * and reads JSON objects from standard output.
 *
 * The call `compose metadata` fails on purpose: Compose drops an option that the metadata
 * does not list without a word, and without metadata it passes all of them, so that a
 * misspelt one is refused here. */
#include "cli/frame/verbs.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/engine/cdi-file.h"
#include "cli/frame/cli.h"
#include "cli/launch/lease-request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_BYTES 160
#define WATCH_TRIES 100 /* with a pause of WATCH_PAUSE_US each */
#define WATCH_PAUSE_US 100000

struct compose_settings {
	struct clv_lease_settings request;
	const char *project;
	const char *to;
	const char *driver_root;
};

struct provider {
	const struct compose_settings *settings;
	char name[NAME_MAX_BYTES]; /* of the lease */
	struct clv_client *client;
	json_t *lease; /* set by `up` */
};

/* Messages to Compose. */

static void say(const char *type, const char *text)
{
	_cleanup_json_ json_t *message =
		json_pack("{s:s,s:s}", "type", type, "message", text);

	if (message && json_dumpf(message, stdout, 0) == 0)
		putchar('\n');
	fflush(stdout);
}

static void say_error(const char *line)
{
	say("error", line);
}

static void say_variable(const char *name, const char *prefix, const char *value)
{
	char text[NAME_MAX_BYTES + 64];

	snprintf(text, sizeof(text), "%s=%s%s", name, prefix, value);
	say("setenv", text);
}

/* The lease. */

static int create(struct provider *provider, json_t **ret, struct clv_client_error *err)
{
	struct clv_client_lease_request request =
		clv_lease_request(&provider->settings->request);

	request.name = provider->name;
	request.keep = true;
	request.admit = "socket";
	return clv_client_lease_create(provider->client, &request, ret, err);
}

/* Options that a lease has from its creation on.  Its containers may be running, so it is
 * not replaced. */
static void say_what_stays(const struct provider *provider)
{
	const struct clv_lease_settings *s = &provider->settings->request;
	char text[NAME_MAX_BYTES + 160];

	if (!s->device && !s->profile && !s->in && !s->isolation && !s->count &&
		!s->sm_ppm && !s->time_ns)
		return;
	snprintf(text, sizeof(text),
		"lease %s exists: only its share, cap, memory, spill and class change; "
		"docker compose down ends it",
		provider->name);
	say("info", text);
}

static int change(struct provider *provider, json_t **ret, struct clv_client_error *err)
{
	const struct clv_client_lease_request request =
		clv_lease_request(&provider->settings->request);
	const struct clv_client_lease_change change = {
		.class_name = request.class_name,
		.share_ppm = request.share_ppm,
		.share_most_ppm = request.share_most_ppm,
		.cap_ppm = request.cap_ppm,
		.memory_bytes = request.memory_bytes,
		.spill_bytes = request.spill_bytes,
	};

	say_what_stays(provider);
	return clv_client_lease_update(
		provider->client, provider->name, &change, ret, err);
}

/* Compose calls `up` again for a project that is running. */
static int have_lease(struct provider *provider)
{
	_cleanup_json_ json_t *lease = NULL;
	struct clv_client_error err = {0};
	int r = clv_client_lease(provider->client, provider->name, &lease, &err);

	if (r >= 0 && strcmp(clv_json_text(lease, "admit"), "socket") != 0)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"lease %s is not one of containers (cleave reserve "
			"--admit=socket): give the service another --name",
			provider->name);
	if (r >= 0)
		r = change(provider, &provider->lease, &err);
	else if (strcmp(err.code, "not_found") == 0)
		r = create(provider, &provider->lease, &err);
	return r < 0 ? clv_cli_fail_named(provider->name, &err) : 0;
}

/* The file for container runtimes. */

/* Whether a device is the lease of that socket, whose folder it mounts. */
static bool is_of_socket(const json_t *device, const char *socket)
{
	const json_t *edits = json_object_get(device, "containerEdits"), *mount;
	const char *slash = strrchr(socket, '/');
	size_t n = slash ? (size_t)(slash - socket) : 0, i;

	json_array_foreach (json_object_get(edits, "mounts"), i, mount) {
		const char *from = clv_json_text(mount, "hostPath");

		if (n > 0 && strlen(from) == n && memcmp(from, socket, n) == 0)
			return true;
	}
	return false;
}

/* An entry of that name may be of a lease that has ended. */
static bool is_listed(const char *path, const struct provider *provider)
{
	_cleanup_json_ json_t *spec = json_load_file(path, 0, NULL);
	const char *socket = clv_json_text(provider->lease, "socket");
	const json_t *device;
	size_t i;

	json_array_foreach (json_object_get(spec, "devices"), i, device) {
		if (strcmp(clv_json_text(device, "name"), provider->name) == 0 &&
			is_of_socket(device, socket))
			return true;
	}
	return false;
}

/* The file is left to `cleave cdi watch` where one runs, which may take the libraries
 * from another root, and by a user who cannot write it.  One who cannot read it either,
 * because it names the leases of others, is told: the container's start fails if nothing
 * describes the lease. */
static int await_watch(const char *path, const struct provider *provider)
{
	if (access(path, R_OK) < 0 && errno == EACCES) {
		say("info", "the lease is described to containers by cleave cdi watch, "
			    "which has to run as root");
		return 0;
	}
	for (int i = 0; i < WATCH_TRIES; i++) {
		if (is_listed(path, provider))
			return 0;
		usleep(WATCH_PAUSE_US);
	}
	if (clv_cdi_file_is_watched(path))
		return clv_cli_fail(CLV_EXIT_FAILED,
			"'cleave cdi watch' keeps %s up to date and does not list lease "
			"%s: see what it says, or give a file of your own (option to)",
			path, provider->name);
	return clv_cli_fail(CLV_EXIT_NOT_PERMITTED,
		"%s does not list lease %s, and you may not write it: start "
		"'cleave cdi watch' as root, or give a file of your own (option to)",
		path, provider->name);
}

/* A missing folder is made. */
static bool may_write(const char *path)
{
	_cleanup_close_ int fd = -1;
	struct clv_error err;

	return clv_file_try_lock(path, &fd, &err) != -EACCES;
}

static bool is_left_to_watch(const char *path)
{
	return !may_write(path) || clv_cdi_file_is_watched(path);
}

static int write_spec(struct provider *provider)
{
	const char *to = provider->settings->to;
	CLV_CLEANUP(clv_cdi_file_free)
	struct clv_cdi_file file = {.path = to ? to : CLV_CDI_FILE};
	struct clv_client_error err = {0};
	int r = clv_cdi_file_init(&file, provider->settings->driver_root);

	if (!r)
		r = clv_cdi_file_update(&file, provider->client, &err);
	return r < 0 ? clv_cli_fail_client(&err) : r;
}

/* The calls. */

static int up(struct provider *provider)
{
	const char *to = provider->settings->to ? provider->settings->to : CLV_CDI_FILE;
	int r = have_lease(provider);

	if (!r)
		r = is_left_to_watch(to) ? await_watch(to, provider)
					 : write_spec(provider);
	/* With the same name in two tenants the devices have other names. */
	if (!r && access(to, R_OK) == 0 && !is_listed(to, provider))
		r = clv_cli_fail(CLV_EXIT_USAGE,
			"lease %s is not in %s under its name: another tenant has a "
			"lease of that name, so give the service another --name",
			provider->name, to);
	if (r)
		return r;
	say_variable("LEASE", "", provider->name);
	say_variable("DEVICE", "cleave.dev/gpu=", provider->name);
	return 0;
}

static int down(struct provider *provider)
{
	const char *to = provider->settings->to ? provider->settings->to : CLV_CDI_FILE;
	struct clv_client_error err = {0};

	if (clv_client_lease_release(provider->client, provider->name, false, &err) < 0 &&
		strcmp(err.code, "not_found") != 0)
		return clv_cli_fail_named(provider->name, &err);
	return is_left_to_watch(to) ? 0 : write_spec(provider);
}

static const struct call {
	const char *name;
	int (*run)(struct provider *provider);
	bool needs_size;
} calls[] = {
	{"up", up, true},
	{"down", down, false},
};

static const struct call *find_call(const char *name)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(calls); i++) {
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	}
	return NULL;
}

/* The name of a service may have dots, a lease's may not. */
static void make_name(
	const struct compose_settings *settings, const char *service, char *ret)
{
	const char *name = settings->request.name;

	if (name)
		snprintf(ret, NAME_MAX_BYTES, "%s", name);
	else
		snprintf(ret, NAME_MAX_BYTES, "%s-%s", settings->project, service);
	for (char *p = ret; !name && *p; p++)
		*p = *p == '.' ? '-' : *p;
}

static int run_compose(const void *userdata, int argc, char **argv)
{
	const struct compose_settings *settings = userdata;
	const struct call *call = find_call(argv[0]);
	_cleanup_client_ struct clv_client *client = NULL;
	struct provider provider = {.settings = settings};
	int r = 0;

	if (!call)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"'%.40s' is not a call of Compose that cleave answers: up and "
			"down are",
			argv[0]);
	if (argc != 2 || !settings->project)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"this verb is for docker compose: it needs --project-name, and "
			"the service's name after %s",
			argv[0]);
	make_name(settings, argv[1], provider.name);
	if (call->needs_size)
		r = clv_lease_request_check(&settings->request);
	if (!r)
		r = clv_cli_connect(&settings->request.common, true, &client);
	provider.client = client;
	if (!r)
		r = call->run(&provider);
	clv_json_free(provider.lease);
	return r;
}

static const struct clv_opt options[] = {
	{
		.name = "project-name",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct compose_settings, project),
		.argument = "PROJECT",
		.help = "The name of the project, which Compose gives",
	},
	{
		.name = "to",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct compose_settings, to),
		.argument = "FILE",
		.completes = CLV_COMPLETE_FILE,
		.help = "Describe the leases for container runtimes in this file; by "
			"default " CLV_CDI_FILE,
	},
	{
		.name = "driver-root",
		.type = CLV_OPT_TEXT,
		.offset = CLV_OPT_AT(struct compose_settings, driver_root),
		.argument = "FOLDER",
		.completes = CLV_COMPLETE_FILE,
		.help = "Take NVIDIA's libraries from below this folder, as cleave cdi "
			"watch does with the same option; by default /",
	},
	CLV_LEASE_OPTIONS,
	CLV_OPT_LEASE_TIME(struct clv_lease_settings,
		"End the lease and its programs after this time, as 2h"),
	CLV_OPT_HELP,
	CLV_OPT_SOCKET,
};

const struct clv_verb clv_verb_compose = {
	.name = "compose",
	.arguments = "up|down SERVICE",
	.summary = "have a lease for a service of a compose file",
	.about = "For Docker Compose, which calls it for a service with provider: {type: "
		 "cleave}. up reserves a lease for containers, named PROJECT-SERVICE, "
		 "or changes its size; down releases it. Prints JSON messages for "
		 "Compose.",
	.settings_bytes = sizeof(struct compose_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = 2,
	.print_error = say_error,
	.run = run_compose,
};
