/* SPDX-License-Identifier: Apache-2.0 */
/* cleave-webhook: a mutating admission webhook, which the API server asks about pods that
 * are created. */
#include "base/error.h"
#include "bridge/https/server.h"
#include "bridge/webhook/review.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 64, EXIT_FAILED = 125 };

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

static const struct option long_options[] = {
	{"listen", required_argument, NULL, 'l'},
	{"certificate", required_argument, NULL, 'c'},
	{"key", required_argument, NULL, 'k'},
	{"settings", required_argument, NULL, 's'},
	{"profiles", required_argument, NULL, 'p'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'v'},
	{NULL, 0, NULL, 0},
};

struct webhook {
	struct clv_server_options server;
	struct clv_webhook_settings settings;
	struct clv_webhook_profiles profiles;
	const char *settings_path;
	char *listen; /* owned; split into server.address and server.port */
};

static int fail_usage(const char *what)
{
	fprintf(stderr, "cleave-webhook: %s: see --help\n", what);
	return EXIT_USAGE;
}

/* Returns 0, an exit code, or -1 to exit with 0. */
static int take_option(struct webhook *webhook, int option)
{
	switch (option) {
	case 'l':
		free(webhook->listen);
		webhook->listen = strdup(optarg);
		return webhook->listen && clv_server_split_address(
						  webhook->listen, &webhook->server) == 0
			       ? 0
			       : fail_usage("--listen takes ADDRESS:PORT");
	case 'c':
		webhook->server.certificate = optarg;
		return 0;
	case 'k':
		webhook->server.key = optarg;
		return 0;
	case 's':
		webhook->settings_path = optarg;
		return 0;
	case 'p':
		webhook->profiles.userdata = optarg;
		return 0;
	case 'h':
		fputs(usage_text, stdout);
		return -1;
	case 'v':
		printf("cleave-webhook %s\n", CLV_VERSION);
		return -1;
	default:
		return EXIT_USAGE;
	}
}

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

static int serve(struct webhook *webhook, sigset_t *signals)
{
	struct clv_server *server;
	struct clv_error err;
	int number, r = 0;

	if (webhook->settings_path)
		r = clv_webhook_settings_read(
			webhook->settings_path, &webhook->settings, &err);
	if (r >= 0)
		r = clv_server_new(&webhook->server, &server, &err);
	if (r < 0) {
		fprintf(stderr, "cleave-webhook: %s\n", err.msg);
		return EXIT_FAILED;
	}
	fprintf(stderr, "cleave-webhook: listens on %s port %u\n",
		webhook->server.address, clv_server_port(server));
	sigwait(signals, &number);
	clv_server_free(server);
	return 0;
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
	sigset_t signals;
	int option, r = 0;

	webhook.server.userdata = &webhook;
	while (r == 0 && (option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		r = take_option(&webhook, option);
	if (r == 0 && optind < argc)
		r = fail_usage("it takes no arguments");
	if (r == 0) {
		/* Blocked in all threads, because sigwait() receives them. */
		sigemptyset(&signals);
		sigaddset(&signals, SIGTERM);
		sigaddset(&signals, SIGINT);
		pthread_sigmask(SIG_BLOCK, &signals, NULL);
		r = serve(&webhook, &signals);
	}
	free(webhook.listen);
	return r < 0 ? 0 : r;
}
