/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;
struct clv_kube;

/* Keeps the inventory current: it is fetched again after events of the agent about
 * devices, and once a minute.  Loop thread only. */
struct clv_kube_watch;

int clv_kube_watch_new(
	struct clv_kube *kube, struct clv_kube_watch **ret, struct clv_error *err);
/* Accepts NULL; returns NULL. */
struct clv_kube_watch *clv_kube_watch_free(struct clv_kube_watch *watch);

/* Fetches the inventory now, or again after a fetch that is running. */
void clv_kube_watch_refresh(struct clv_kube_watch *watch);
