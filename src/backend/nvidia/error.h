/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/library.h"

struct clv_error;

#define CLV_NVIDIA_SEE_LOG "look for NVRM and Xid in dmesg"

/* Sets err to "CONTEXT: why: what would work" for a code of NVML that is not
 * CLV_NVML_SUCCESS, and returns the negative errno for it. */
int clv_nvidia_error(const struct clv_nvidia_library *nvml, int code,
	struct clv_error *err, const char *context, ...)
	__attribute__((format(printf, 4, 5)));
