/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* What the agent itself uses. */
struct clv_self {
	double cpu_seconds;
	uint64_t resident_bytes;
	uint32_t n_fds;
};

void clv_self_read(struct clv_self *ret);
