/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"
#include "simulate/predict/predict.h"

#include <jansson.h>

/* cleave fit --predict: how programs that cleave profile has measured perform
 * together on one device.  Each argument is FILE[=SHARE[,CLASS]].  An exit code. */
int clv_predict_show(const struct clv_common *common, int argc, char **argv);

/* Reads a report of cleave profile: how the program computes alone, with the share and
 * class that it proposes.  Returns 0, or an exit code after printing the error; the
 * caller owns *ret_report in both cases. */
int clv_predict_read_report(
	const char *path, struct clv_predict_program *ret, json_t **ret_report);
