/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/config/settings.h"

#include <stdbool.h>

struct clv_error;
struct json_t;

/* Follows the objects of a collection of the API server: lists them, watches for changes,
 * and lists them again when changes may have been missed.  While the API server does not
 * answer, its user keeps what it was told, and is told that it may be old. */
struct clv_kube_follower;

enum clv_kube_change {
	CLV_KUBE_LISTED, /* the object is in the list that is being read */
	CLV_KUBE_CHANGED,
	CLV_KUBE_DELETED,
};

/* Called by the thread of the follower.  Objects and texts are borrowed. */
struct clv_kube_follower_ops {
	/* A list begins; it may be begun again before it was complete. */
	void (*begin_list)(void *userdata);
	void (*take)(
		void *userdata, enum clv_kube_change change, const struct json_t *object);
	/* The list is complete: an object that was not in it does not exist. */
	void (*end_list)(void *userdata);
	/* why: NULL where all changes arrive, or what prevents that.  Called when that
	 * changes. */
	void (*tell)(void *userdata, const char *why);
};

struct clv_kube_follower_options {
	const char *path;   /* "/api/v1/nodes" */
	const char *fields; /* an encoded field selector, or NULL for all objects */
	bool is_metadata;   /* only the metadata of the objects is needed */
	const struct clv_kube_follower_ops *ops;
	void *userdata;
};

/* Starts the thread.  The texts of options are borrowed until the follower is freed;
 * settings are read during the call. */
int clv_kube_follower_new(const struct clv_kube_settings *settings,
	const struct clv_kube_follower_options *options, struct clv_kube_follower **ret,
	struct clv_error *err);
/* Waits for the thread, about a second.  Accepts NULL; returns NULL. */
struct clv_kube_follower *clv_kube_follower_free(struct clv_kube_follower *follower);
