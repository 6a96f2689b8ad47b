/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/webhook/patch.h"
#include "bridge/webhook/profile.h"
#include "bridge/webhook/settings.h"

#include <stdbool.h>

/* A container of a pod, and where it is. */
struct clv_webhook_container {
	const char *list; /* "containers" or "initContainers" */
	size_t at;
	const json_t *object; /* borrowed */
};

/* The container's name, "" if it has none. */
const char *clv_webhook_container_name(const struct clv_webhook_container *container);

/* Fills in what the container's requests of cleave's resources lack, into the patch of
 * its pod: the request of a limit and the reverse, the amounts of its profile (NULL:
 * none), and the other of share and memory.  *ret_uses_cleave: whether it requests any.
 * -EINVAL: the requests contradict each other or the nodes; err is a sentence that says
 * what would work.  -ENOMEM. */
int clv_webhook_container_complete(const struct clv_webhook_settings *settings,
	const struct clv_webhook_container *container,
	const struct clv_webhook_profile *profile, struct clv_patch *patch,
	bool *ret_uses_cleave, struct clv_error *err);
