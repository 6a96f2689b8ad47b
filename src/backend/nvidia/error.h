/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"

struct clv_error;

#define CLV_NVIDIA_SEE_LOG "look for NVRM and Xid in dmesg"

/* Puts what the driver said into words: "CONTEXT: why: what would work".  Returns the
 * negative errno that stands for code, which is not CLV_NVML_SUCCESS. */
int clv_nvidia_error(const struct clv_nvidia_library *nvml, int code,
	struct clv_error *err, const char *context, ...)
	__attribute__((format(printf, 4, 5)));
