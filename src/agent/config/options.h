/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/agent.h"

struct clv_error;

enum clv_options_mode {
	CLV_OPTIONS_RUN,
	CLV_OPTIONS_HELP,
	CLV_OPTIONS_VERSION,
	CLV_OPTIONS_CHECK,   /* read the settings and report all mistakes */
	CLV_OPTIONS_PROBE,   /* run as the probe of OpenCL devices */
	CLV_OPTIONS_DRIVERS, /* run as the worker that calls drivers */
};

/* Parses the command line.  Folders that it does not give are left empty. */
int clv_options_parse(int argc, char **argv, struct clv_agent_config *ret,
	enum clv_options_mode *ret_mode, struct clv_error *err);

void clv_options_print_help(void);
