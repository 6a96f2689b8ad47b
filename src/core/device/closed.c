/* SPDX-License-Identifier: Apache-2.0 */
#include "core/device/closed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Its number of those that there are; closed->n: it is not among them. */
static size_t find(const struct clv_closed *closed, const char *address)
{
	size_t at = 0;

	while (at < closed->n && strcmp(closed->addresses[at], address) != 0)
		at++;
	return at;
}

bool clv_closed_has(const struct clv_closed *closed, const char *address)
{
	return find(closed, address) < closed->n;
}

int clv_closed_add(struct clv_closed *closed, const char *address)
{
	if (clv_closed_has(closed, address))
		return 0;
	if (closed->n == CLV_CLOSED_MAX)
		return -ENOSPC;
	snprintf(closed->addresses[closed->n++], sizeof(closed->addresses[0]), "%s",
		address);
	return 0;
}
