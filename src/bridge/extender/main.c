/* SPDX-License-Identifier: Apache-2.0 */
/* cleave-extender: a scheduler extender, which kube-scheduler asks on which nodes pods
 * with shares of devices should run. */
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bridge/extender/bind.h"
#include "bridge/extender/extender.h"
#include "bridge/extender/nodes.h"
#include "bridge/https/server.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 64, EXIT_FAILED = 125 };

#define BODY_MAX_BYTES (256u << 20) /* thousands of nodes, as whole objects */
#define STATUS_NOT_FOUND 404u

static const char usage_text[] =
	"Usage: cleave-extender [OPTION...]\n"
	"Answers kube-scheduler: which nodes have a device with room for a pod, which "
	"of\n"
	"them leaves the fewest devices stranded, and binds it there.\n\n"
	"  --listen=ADDRESS:PORT    the address to listen on (127.0.0.1:8888); any "
	"but the\n"
	"                           loopback needs --client-ca\n"
	"  --certificate=FILE, --key=FILE\n"
	"                           serve TLS with these PEM files\n"
	"  --client-ca=FILE         require client certificates of this authority\n"
	"  --kubeconfig=FILE        reach the API server from outside the cluster\n"
	"  --share=RESOURCE         the resource of hundredths of a device\n"
	"                           (cleave.dev/gpu-share)\n"
	"  --memory=RESOURCE        the resource of memory (cleave.dev/gpu-memory)\n"
	"  --memory-unit=MIB        the size of one unit of memory (1)\n"
	"  --help, --version\n";

static const struct option long_options[] = {
	{"listen", required_argument, NULL, 'l'},
	{"certificate", required_argument, NULL, 'c'},
	{"key", required_argument, NULL, 'k'},
	{"client-ca", required_argument, NULL, 'a'},
	{"kubeconfig", required_argument, NULL, 'f'},
	{"share", required_argument, NULL, 's'},
	{"memory", required_argument, NULL, 'm'},
	{"memory-unit", required_argument, NULL, 'u'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'v'},
	{NULL, 0, NULL, 0},
};

struct settings {
	struct clv_server_options server;
	struct clv_extender_options extender;
	const char *kubeconfig;
	char *listen; /* owned; split into server.address and server.port */
};

static int fail_usage(const char *what)
{
	fprintf(stderr, "cleave-extender: %s: see --help\n", what);
	return EXIT_USAGE;
}

static int set_listen(struct settings *settings, const char *text)
{
	free(settings->listen);
	settings->listen = strdup(text);
	return settings->listen && clv_server_split_address(
					   settings->listen, &settings->server) == 0
		       ? 0
		       : fail_usage("--listen takes ADDRESS:PORT");
}

static int set_unit(struct settings *settings, const char *text)
{
	char *end;
	unsigned long unit = strtoul(text, &end, 10);

	if (end == text || *end || unit == 0 || unit > 1u << 20)
		return fail_usage("--memory-unit takes a number of MiB");
	settings->extender.resources.memory_unit_mib = (uint32_t)unit;
	return 0;
}

/* Returns 0, an exit code, or -1 to exit with 0. */
static int take_option(struct settings *settings, int option)
{
	switch (option) {
	case 'l':
		return set_listen(settings, optarg);
	case 'c':
		settings->server.certificate = optarg;
		return 0;
	case 'k':
		settings->server.key = optarg;
		return 0;
	case 'a':
		settings->server.client_ca = optarg;
		return 0;
	case 'f':
		settings->kubeconfig = optarg;
		return 0;
	case 's':
		settings->extender.resources.share = optarg;
		return 0;
	case 'm':
		settings->extender.resources.memory = optarg;
		return 0;
	case 'u':
		return set_unit(settings, optarg);
	case 'h':
		fputs(usage_text, stdout);
		return -1;
	case 'v':
		printf("cleave-extender %s\n", CLV_VERSION);
		return -1;
	default:
		return EXIT_USAGE;
	}
}

static json_t *answer(void *userdata, const char *path, const json_t *body,
	unsigned *ret_status, struct clv_error *err)
{
	json_t *object = clv_extender_handle(userdata, path, body, clv_clock_ns());

	if (!object) {
		*ret_status = STATUS_NOT_FOUND;
		clv_error_set(
			err, -ENOENT, "unknown path: use /filter, /prioritize or /bind");
	}
	return object;
}

static bool is_ready(void *userdata, char *ret_line, size_t n_bytes)
{
	return clv_extender_is_ready(userdata, clv_clock_ns(), ret_line, n_bytes);
}

static int start(struct settings *settings, struct clv_extender **extender,
	struct clv_nodes **nodes, struct clv_server **server, struct clv_error *err)
{
	int r = clv_extender_binder_new(
		settings->kubeconfig, &settings->extender.userdata, err);

	if (r < 0)
		return r;
	settings->extender.bind = clv_extender_bind;
	*extender = clv_extender_new(&settings->extender);
	if (!*extender)
		return clv_error_errno(err, ENOMEM, "cannot start");
	settings->server.answer = answer;
	settings->server.is_ready = is_ready;
	settings->server.userdata = *extender;
	r = clv_server_new(&settings->server, server, err);
	if (r < 0)
		return r;
	fprintf(stderr, "cleave-extender: listens on %s port %u\n",
		settings->server.address, clv_server_port(*server));
	return clv_nodes_new(*extender, settings->kubeconfig, nodes, err);
}

static int serve(struct settings *settings, sigset_t *signals)
{
	struct clv_extender *extender = NULL;
	struct clv_server *server = NULL;
	struct clv_nodes *nodes = NULL;
	struct clv_error err;
	int number, r = start(settings, &extender, &nodes, &server, &err);

	if (r < 0)
		fprintf(stderr, "cleave-extender: %s\n", err.msg);
	else
		sigwait(signals, &number);
	clv_server_free(server);
	clv_nodes_free(nodes);
	clv_extender_free(extender);
	clv_extender_binder_free(settings->extender.userdata);
	return r < 0 ? EXIT_FAILED : 0;
}

int main(int argc, char **argv)
{
	struct settings settings = {
		.server = {.address = "127.0.0.1",
			.port = "8888",
			.danger = "have pods bound",
			.body_max_bytes = BODY_MAX_BYTES},
		.extender.resources = {.share = "cleave.dev/gpu-share",
			.memory = "cleave.dev/gpu-memory",
			.memory_unit_mib = 1},
	};
	sigset_t signals;
	int option, r = 0;

	clv_log_set_level_from_env();
	while (r == 0 && (option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		r = take_option(&settings, option);
	if (r == 0 && optind < argc)
		r = fail_usage("it takes no arguments");
	if (r == 0) {
		/* Blocked in all threads, because sigwait() receives them. */
		sigemptyset(&signals);
		sigaddset(&signals, SIGTERM);
		sigaddset(&signals, SIGINT);
		pthread_sigmask(SIG_BLOCK, &signals, NULL);
		r = serve(&settings, &signals);
	}
	free(settings.listen);
	return r < 0 ? 0 : r;
}
