/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

struct clv_verb_table;

/* The options before the verb. */
struct clv_root_settings {
	struct clv_common common;
	bool version;
};

/* main() of a program with these verbs: returns its exit code. */
int clv_run(const struct clv_verb_table *table, int argc, char **argv);
