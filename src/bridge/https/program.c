/* SPDX-License-Identifier: Apache-2.0 */
/* Options are looked up in two tables: those of the program, and those of all. */
#include "bridge/https/program.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <assert.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 64, EXIT_FAILED = 125 };

#define OPTIONS_MAX 16u

enum common { LISTEN, CERTIFICATE, KEY, HELP, VERSION, _COMMON_MAX };

static const struct option common_options[_COMMON_MAX] = {
	[LISTEN] = {"listen", required_argument, NULL, LISTEN},
	[CERTIFICATE] = {"certificate", required_argument, NULL, CERTIFICATE},
	[KEY] = {"key", required_argument, NULL, KEY},
	[HELP] = {"help", no_argument, NULL, HELP},
	[VERSION] = {"version", no_argument, NULL, VERSION},
};

struct run {
	const struct clv_program *program;
	char *listen; /* owned; split into the server's address and port */
};

static int fail_usage(const struct clv_program *program, const char *what)
{
	fprintf(stderr, "%s: %s: see --help\n", program->name, what);
	return EXIT_USAGE;
}

static int set_listen(struct run *run, const char *text)
{
	free(run->listen);
	run->listen = strdup(text);
	return run->listen && clv_server_split_address(
				      run->listen, run->program->server) == 0
		       ? 0
		       : fail_usage(run->program, "--listen takes ADDRESS:PORT");
}

static int take_own(const struct clv_program *program, size_t at, const char *text)
{
	struct clv_error err = {0};

	return program->options[at].take(program->userdata, text, &err) < 0
		       ? fail_usage(program, err.msg)
		       : 0;
}

/* Returns 0, an exit code, or -1 to exit with 0. */
static int take(struct run *run, int option, const char *text)
{
	const struct clv_program *program = run->program;

	switch (option) {
	case LISTEN:
		return set_listen(run, text);
	case CERTIFICATE:
		program->server->certificate = text;
		return 0;
	case KEY:
		program->server->key = text;
		return 0;
	case HELP:
		fputs(program->usage, stdout);
		return -1;
	case VERSION:
		printf("%s %s\n", program->name, CLV_VERSION);
		return -1;
	case '?':
		return EXIT_USAGE;
	default:
		return take_own(program, (size_t)option - _COMMON_MAX, text);
	}
}

static int take_all(struct run *run, int argc, char **argv)
{
	const struct clv_program *program = run->program;
	struct option options[OPTIONS_MAX] = {0};
	int option, r = 0;

	memcpy(options, common_options, sizeof(common_options));
	for (size_t i = 0; i < program->n_options; i++)
		options[_COMMON_MAX + i] = (struct option){program->options[i].name,
			required_argument, NULL, _COMMON_MAX + (int)i};
	while (r == 0 && (option = getopt_long(argc, argv, "", options, NULL)) != -1)
		r = take(run, option, optarg);
	if (r == 0 && optind < argc)
		r = fail_usage(program, "it takes no arguments");
	return r;
}

/* The signals are blocked in all threads, because sigwait() receives them. */
static int serve(const struct clv_program *program)
{
	struct clv_error err = {0};
	sigset_t signals;
	int number, r;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	r = program->start(program->userdata, &err);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", program->name, err.msg);
	else
		sigwait(&signals, &number);
	program->end(program->userdata);
	return r < 0 ? EXIT_FAILED : 0;
}

int clv_program_run(const struct clv_program *program, int argc, char **argv)
{
	struct run run = {.program = program};
	int r;

	assert(program->n_options + _COMMON_MAX < OPTIONS_MAX);
	r = take_all(&run, argc, argv);
	if (r == 0)
		r = serve(program);
	free(run.listen);
	return r < 0 ? 0 : r;
}
