/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/service.h"

#include <jansson.h>

/* A service of `cleave up --plan`. */
struct clv_planned {
	const char *name;
	const struct clv_service *service; /* NULL: it is removed */
	bool is_replaced;                  /* its replicas are */
	bool is_asleep;
	size_t n_replicas; /* wanted */
	/* An array, to be filled with an object for each replica: {"replica",
	 * "replaces", "fits", "device", "share", "after_end", "why", "slowdown",
	 * "slowdown_why"}, where null is "not known" or "none". */
	json_t *placement;
};
