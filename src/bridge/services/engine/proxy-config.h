/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/service.h"

#include <stdbool.h>
#include <stddef.h>

/* The proxy's configuration file.  Texts are the caller's to free; NULL: out of memory.
 */

/* Beyond the replicas: one that starts in an update, and one that drains. */
#define CLV_PROXY_SLOTS_EXTRA 2u
#define CLV_PROXY_SLOTS_MAX (CLV_SERVICE_REPLICAS_MAX + CLV_PROXY_SLOTS_EXTRA)

static inline unsigned clv_proxy_slots(const struct clv_service *service)
{
	return service->scaling.max_replicas + CLV_PROXY_SLOTS_EXTRA;
}

struct clv_proxy_config {
	const char *socket, *refusal; /* paths */
	const char *shape;
	int first_fd;           /* of the inherited sockets, one for each port */
	unsigned n_connections; /* at a time, of all ports */
	bool holds;             /* as clv_proxy_end_server() */
	const char *(*address_of)(void *userdata, unsigned slot);
	void *userdata;
};

/* What cannot be changed in a running proxy, as one line: ports, modes and slots. */
char *clv_proxy_config_shape(const struct clv_service *service);

/* Whether a file was written for this shape. */
bool clv_proxy_config_has_shape(const char *path, const char *shape);

char *clv_proxy_config_write(
	const struct clv_service *service, const struct clv_proxy_config *config);

/* The answer of HTTP where no replica is there: 503 with Retry-After. */
extern const char clv_proxy_refusal[];
