/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/paths.h"

struct clv_error;

/* Finds the hook of containers, beside the gates or in a build tree. */
int clv_cdi_find_hook(const char *gates, char ret[CLV_PATH_MAX], struct clv_error *err);
