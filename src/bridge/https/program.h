/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/https/server.h"

#include <stddef.h>

/* A program that is an HTTPS server: its command line, its start and its end. */

/* An option with an argument.  take: stores the text in userdata, or returns a negative
 * value and sets err to what the option takes. */
struct clv_program_option {
	const char *name; /* without dashes */
	int (*take)(void *userdata, const char *text, struct clv_error *err);
};

struct clv_program {
	const char *name;
	const char *usage; /* all that --help prints */
	const struct clv_program_option *options;
	size_t n_options;
	struct clv_server_options *server; /* with the defaults of its address */
	/* Starts to serve; the texts of options live until the end.  Ends it: also called
	 * if start failed. */
	int (*start)(void *userdata, struct clv_error *err);
	void (*end)(void *userdata);
	void *userdata;
};

/* Takes the program's options and --listen, --certificate, --key, --help and --version,
 * then serves until SIGTERM or SIGINT.  Returns the exit code. */
int clv_program_run(const struct clv_program *program, int argc, char **argv);
