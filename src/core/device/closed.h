/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* PCI addresses of the devices that drivers' libraries must not open, because another
 * driver is about to take them.  Plain data; zero it to begin. */
#define CLV_CLOSED_MAX 32

struct clv_closed {
	char addresses[CLV_CLOSED_MAX][16];
	size_t n;
};

bool clv_closed_has(const struct clv_closed *closed, const char *address);

/* Once, however often it is added.  -ENOSPC: there is no room. */
int clv_closed_add(struct clv_closed *closed, const char *address);
