/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"

/* cleave fit --predict: how programs that cleave profile has measured perform
 * together on one device.  Each argument is FILE[=SHARE[,CLASS]].  An exit code. */
int clv_predict_show(const struct clv_common *common, int argc, char **argv);
