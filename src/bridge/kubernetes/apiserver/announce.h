/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

struct clv_error;
struct json_t;

/* Tells the cluster what is free on each device that is not divided, in an annotation of
 * the node that cleave-extender reads (bridge/extender/places.h has its form).  From a
 * thread of its own with connections of its own, for the API server may be slow: it looks
 * every two seconds and writes what has changed. */
struct clv_kube_announcer;

int clv_kube_announcer_new(const struct clv_kube_settings *settings,
	struct clv_kube_announcer **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_announcer *clv_kube_announcer_free(struct clv_kube_announcer *announcer);

/* The annotation's value, by what the agent answers for its devices; to be freed. */
char *clv_kube_announcement(const struct json_t *devices);
