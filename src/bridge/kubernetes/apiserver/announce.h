/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

#include <stdbool.h>

struct clv_error;
struct json_t;

/* Announces what is free on each device that is not divided, in an annotation of the node
 * that cleave-extender reads (bridge/extender/places.h has its form).  A thread with its
 * own connections polls the agent every two seconds and writes changes; the API server
 * may be slow, and so must not block the event loop.
 *
 * The room of a lease that kubelet no longer lists is free for the next pod, although the
 * lease ends later.  After free room has grown a second change of the node has the
 * scheduler try waiting pods again. */
struct clv_kube_announcer;

/* list_unlisted: returns a new object with the names of the leases that kubelet no longer
 * lists as keys, or NULL for none; called by the announcer's thread. */
struct clv_kube_announcer_options {
	struct json_t *(*list_unlisted)(void *userdata);
	void *userdata; /* borrowed */
};

int clv_kube_announcer_new(const struct clv_kube_settings *settings,
	const struct clv_kube_announcer_options *options, struct clv_kube_announcer **ret,
	struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_announcer *clv_kube_announcer_free(struct clv_kube_announcer *announcer);

/* Makes the annotation's value from the agent's lists of devices and of leases; unlisted
 * as above.  leases and unlisted may be NULL.  The caller frees the value. */
char *clv_kube_announcement(const struct json_t *devices, const struct json_t *leases,
	const struct json_t *unlisted);

/* Whether a device has more room by the second of these values than by the first. */
bool clv_kube_announcement_grows(const char *before, const char *after);
