/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/extender/places.h"

/* The three questions that kube-scheduler asks of an extender (k8s.io/kube-scheduler,
 * extender/v1, types.go): which nodes will do, which are best, and to bind a pod to one.
 * JSON in, JSON out.  One thread at a time, but for the binding itself. */
struct clv_extender;

/* Binds a pod to a node in the API server.  0, or what that said. */
typedef int (*clv_extender_bind_fn)(void *userdata, const char *namespace,
	const char *name, const char *uid, const char *node, struct clv_error *err);

struct clv_extender_options {
	struct clv_pod_resources resources;
	clv_extender_bind_fn bind;
	void *userdata;
};

/* NULL without memory.  Texts in options are borrowed. */
struct clv_extender *clv_extender_new(const struct clv_extender_options *options);
struct clv_extender *clv_extender_free(struct clv_extender *extender);

/* path: "/filter", "/prioritize", "/bind".  The answer is the caller's; what is wrong
 * with a question is said in it, as the scheduler expects it.  NULL: there is no such
 * question. */
json_t *clv_extender_ask(struct clv_extender *extender, const char *path,
	const json_t *body, uint64_t now_ns);
