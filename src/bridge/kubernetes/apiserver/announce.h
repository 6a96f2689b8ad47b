/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

struct clv_error;
struct json_t;

/* Announces what is free on each device that is not divided, in an annotation of the node
 * that cleave-extender reads (bridge/extender/places.h has its form).  A thread with its
 * own connections polls the agent every two seconds and writes changes; the API server
 * may be slow, and so must not block the event loop. */
struct clv_kube_announcer;

int clv_kube_announcer_new(const struct clv_kube_settings *settings,
	struct clv_kube_announcer **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_announcer *clv_kube_announcer_free(struct clv_kube_announcer *announcer);

/* Makes the annotation's value from the agent's list of devices.  The caller frees it. */
char *clv_kube_announcement(const struct json_t *devices);
