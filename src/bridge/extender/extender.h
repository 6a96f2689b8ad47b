/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/extender/places.h"

/* The three calls of kube-scheduler to an extender (k8s.io/kube-scheduler, extender/v1,
 * types.go): filter nodes, score nodes, and bind a pod to one.  Requests and answers are
 * JSON.  Any thread; a lock serializes all but the call to the API server. */
struct clv_extender;

/* Binds a pod to a node in the API server.  Returns 0 or the API server's error. */
typedef int (*clv_extender_bind_fn)(void *userdata, const char *namespace,
	const char *name, const char *uid, const char *node, struct clv_error *err);

struct clv_extender_options {
	struct clv_pod_resources resources;
	clv_extender_bind_fn bind;
	void *userdata;
};

/* NULL: out of memory.  Texts in options are borrowed. */
struct clv_extender *clv_extender_new(const struct clv_extender_options *options);
struct clv_extender *clv_extender_free(struct clv_extender *extender);

/* Answers a call; path is "/filter", "/prioritize" or "/bind".  The caller owns the
 * answer, which also has the error of a bad request, as the scheduler expects.  NULL:
 * there is no such path. */
json_t *clv_extender_handle(struct clv_extender *extender, const char *path,
	const json_t *body, uint64_t now_ns);
