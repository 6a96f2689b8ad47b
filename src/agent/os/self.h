/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* The resources that the agent's own process uses, for its metrics. */
struct clv_self {
	double cpu_seconds;
	uint64_t resident_bytes;
	uint32_t n_fds;
};

void clv_self_read(struct clv_self *ret);
