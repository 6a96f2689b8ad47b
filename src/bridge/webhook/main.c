/* SPDX-License-Identifier: Apache-2.0 */
/* cleave-webhook: a mutating admission webhook, which the API server asks about pods that
 * are created. */
#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/https/program.h"
#include "bridge/webhook/review.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The API server takes objects of up to 3 MiB, and sends two at most. */
#define BODY_MAX_BYTES (8u << 20)
#define STATUS_BAD_REQUEST 400u
#define STATUS_NOT_FOUND 404u
#define STATUS_FAILED 500u

static const char usage_text[] =
	"Usage: cleave-webhook [OPTION...]\n"
	"Answers the API server: what pods lack that request shares of devices, and "
	"which\n"
	"of them contradict themselves.\n\n"
	"  --listen=ADDRESS:PORT    the address to listen on (127.0.0.1:8443); any "
	"but the\n"
	"                           loopback needs --certificate and --key\n"
	"  --certificate=FILE, --key=FILE\n"
	"                           serve TLS with these PEM files, which are read\n"
	"                           again when they change\n"
	"  --settings=FILE          what the nodes of the cluster have\n"
	"  --profiles=FOLDER        share profiles, a file for each\n"
	"  --help, --version\n";

struct webhook {
	struct clv_server_options server;
	struct clv_webhook_settings settings;
	struct clv_webhook_profiles profiles;
	const char *settings_path;
	struct clv_server *running;
};

static int take_settings(void *userdata, const char *text, struct clv_error *err)
{
	((struct webhook *)userdata)->settings_path = text;
	return 0;
}

static int take_profiles(void *userdata, const char *text, struct clv_error *err)
{
	((struct webhook *)userdata)->profiles.userdata = (void *)(uintptr_t)text;
	return 0;
}

static const struct clv_program_option options[] = {
	{"settings", take_settings},
	{"profiles", take_profiles},
};

static json_t *answer(void *userdata, const char *path, const json_t *body,
	unsigned *ret_status, struct clv_error *err)
{
	const struct webhook *webhook = userdata;
	json_t *object = NULL;
	int r;

	if (strcmp(path, "/mutate") != 0) {
		*ret_status = STATUS_NOT_FOUND;
		clv_error_set(err, -ENOENT, "unknown path: use /mutate");
		return NULL;
	}
	r = clv_webhook_review(
		&webhook->settings, &webhook->profiles, body, &object, err);
	*ret_status = r == -EINVAL ? STATUS_BAD_REQUEST : STATUS_FAILED;
	return object;
}

static int start(void *userdata, struct clv_error *err)
{
	struct webhook *webhook = userdata;
	int r = 0;

	if (webhook->settings_path)
		r = clv_webhook_settings_read(
			webhook->settings_path, &webhook->settings, err);
	if (r >= 0)
		r = clv_server_new(&webhook->server, &webhook->running, err);
	if (r >= 0)
		fprintf(stderr, "cleave-webhook: listens on %s port %u\n",
			webhook->server.address, clv_server_port(webhook->running));
	return r;
}

static void end(void *userdata)
{
	struct webhook *webhook = userdata;

	clv_server_free(webhook->running);
}

int main(int argc, char **argv)
{
	struct webhook webhook = {
		.server = {.address = "127.0.0.1",
			.port = "8443",
			.body_max_bytes = BODY_MAX_BYTES,
			.answer = answer},
		.profiles = {.find = clv_webhook_profile_read},
	};
	const struct clv_program program = {
		.name = "cleave-webhook",
		.usage = usage_text,
		.options = options,
		.n_options = CLV_ARRAY_SIZE(options),
		.server = &webhook.server,
		.start = start,
		.end = end,
		.userdata = &webhook,
	};

	webhook.server.userdata = &webhook;
	return clv_program_run(&program, argc, argv);
}
