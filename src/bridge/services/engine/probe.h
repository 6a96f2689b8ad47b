/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A connection to a port, begun and looked at, never waited for. */
struct clv_probe {
	int fd; /* -1: none is begun */
	uint64_t since_ns;
};

/* Whether the port accepts connections.  A connection that is not there within a second
 * is begun again. */
bool clv_probe_accepts(
	struct clv_probe *probe, const char *address, uint16_t port, uint64_t now_ns);
void clv_probe_end(struct clv_probe *probe);
