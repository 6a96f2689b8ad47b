/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

struct clv_error;

/* The section of the settings that the node's label names. */

#define CLV_KUBE_SECTION_LABEL "cleave.dev/config"

/* Asks the API server for the label; *ret is "" where the node has none.  While the API
 * server does not answer, the name is that of the last answer, which is kept beside the
 * status file. */
int clv_kube_section_ask(const struct clv_kube_settings *settings,
	char ret[CLV_KUBE_NAME_MAX], struct clv_error *err);

/* A thread with its own connection that asks from time to time, because the API server
 * may be slow.  Once the label is another than `name`, it writes to the eventfd
 * changed_fd, which is borrowed, and ends. */
struct clv_kube_section_watch;

int clv_kube_section_watch_new(const struct clv_kube_settings *settings, const char *name,
	int changed_fd, struct clv_kube_section_watch **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_section_watch *clv_kube_section_watch_free(
	struct clv_kube_section_watch *watch);
