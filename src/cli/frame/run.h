/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

struct clv_verb_table;

/* The options before the verb. */
struct clv_root_settings {
	struct clv_common common;
	bool version;
};

/* The rows of these options. */
#define CLV_OPT_ROOT                                                               \
	CLV_OPT_HELP,                                                              \
		{.name = "version",                                                \
			.type = CLV_OPT_FLAG,                                      \
			.offset = CLV_OPT_AT(struct clv_root_settings, version),   \
			.help = "Show the version and exit"},                      \
		{.name = "sim",                                                    \
			.type = CLV_OPT_TEXT,                                      \
			.offset = CLV_OPT_COMMON(sim),                             \
			.argument = "FILE",                                        \
			.completes = CLV_COMPLETE_FILE,                            \
			.help = "Use the simulated node that this file describes " \
				"instead of "                                      \
				"the real one"},                                   \
		CLV_OPT_SOCKET

/* main() of a program with these verbs: returns its exit code. */
int clv_run(const struct clv_verb_table *table, int argc, char **argv);
