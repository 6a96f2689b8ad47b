/* SPDX-License-Identifier: Apache-2.0 */
/* cleave-extender: a scheduler extender, which kube-scheduler asks on which nodes pods
 * with shares of devices should run. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bridge/extender/bind.h"
#include "bridge/extender/extender.h"
#include "bridge/extender/nodes.h"
#include "bridge/https/program.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

struct program {
	struct clv_server_options server;
	struct clv_extender_options options;
	const char *kubeconfig;
	struct clv_extender *extender;
	struct clv_server *running;
	struct clv_nodes *nodes;
};

/* --- Options --- */

static int take_client_ca(void *userdata, const char *text, struct clv_error *err)
{
	((struct program *)userdata)->server.client_ca = text;
	return 0;
}

static int take_kubeconfig(void *userdata, const char *text, struct clv_error *err)
{
	((struct program *)userdata)->kubeconfig = text;
	return 0;
}

static int take_share(void *userdata, const char *text, struct clv_error *err)
{
	((struct program *)userdata)->options.resources.share = text;
	return 0;
}

static int take_memory(void *userdata, const char *text, struct clv_error *err)
{
	((struct program *)userdata)->options.resources.memory = text;
	return 0;
}

static int take_unit(void *userdata, const char *text, struct clv_error *err)
{
	struct program *program = userdata;
	char *end;
	unsigned long unit = strtoul(text, &end, 10);

	if (end == text || *end || unit == 0 || unit > 1u << 20)
		return clv_error_set(err, -EINVAL, "--memory-unit takes a number of MiB");
	program->options.resources.memory_unit_mib = (uint32_t)unit;
	return 0;
}

static const struct clv_program_option options[] = {
	{"client-ca", take_client_ca},
	{"kubeconfig", take_kubeconfig},
	{"share", take_share},
	{"memory", take_memory},
	{"memory-unit", take_unit},
};

/* --- Service --- */

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

static int start(void *userdata, struct clv_error *err)
{
	struct program *program = userdata;
	int r = clv_extender_binder_new(
		program->kubeconfig, &program->options.userdata, err);

	if (r < 0)
		return r;
	program->options.bind = clv_extender_bind;
	program->extender = clv_extender_new(&program->options);
	if (!program->extender)
		return clv_error_errno(err, ENOMEM, "cannot start");
	program->server.answer = answer;
	program->server.is_ready = is_ready;
	program->server.userdata = program->extender;
	r = clv_server_new(&program->server, &program->running, err);
	if (r < 0)
		return r;
	fprintf(stderr, "cleave-extender: listens on %s port %u\n",
		program->server.address, clv_server_port(program->running));
	return clv_nodes_new(
		program->extender, program->kubeconfig, &program->nodes, err);
}

static void end(void *userdata)
{
	struct program *program = userdata;

	clv_server_free(program->running);
	clv_nodes_free(program->nodes);
	clv_extender_free(program->extender);
	clv_extender_binder_free(program->options.userdata);
}

int main(int argc, char **argv)
{
	struct program extender = {
		.server = {.address = "127.0.0.1",
			.port = "8888",
			.danger = "have pods bound",
			.body_max_bytes = BODY_MAX_BYTES},
		.options.resources = {.share = "cleave.dev/gpu-share",
			.memory = "cleave.dev/gpu-memory",
			.memory_unit_mib = 1},
	};
	const struct clv_program program = {
		.name = "cleave-extender",
		.usage = usage_text,
		.options = options,
		.n_options = CLV_ARRAY_SIZE(options),
		.server = &extender.server,
		.start = start,
		.end = end,
		.userdata = &extender,
	};

	clv_log_set_level_from_env();
	return clv_program_run(&program, argc, argv);
}
