/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/extender/places.h"

#include <stdbool.h>
#include <stddef.h>

/* The three calls of kube-scheduler to an extender (k8s.io/kube-scheduler, extender/v1,
 * types.go): filter nodes, score nodes, and bind a pod to one.  Requests and answers are
 * JSON.  Any thread; a lock serializes all but the call to the API server. */
struct clv_extender;

/* Binds a pod to a node in the API server, and writes this value of the annotation
 * CLV_PLACES_POD_ANNOTATION.  Returns 0 or the API server's error. */
typedef int (*clv_extender_bind_fn)(void *userdata, const char *namespace,
	const char *name, const char *uid, const char *node, const char *placed,
	struct clv_error *err);

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

/* --- What the API server tells; any thread --- */

enum clv_extender_told {
	CLV_EXTENDER_LIST_BEGINS,
	CLV_EXTENDER_LISTED,
	CLV_EXTENDER_LIST_ENDS,
	CLV_EXTENDER_CHANGED,
	CLV_EXTENDER_DELETED,
};

/* object: of the last two and of LISTED. */
void clv_extender_tell_node(struct clv_extender *extender, enum clv_extender_told what,
	const json_t *object, uint64_t now_ns);
void clv_extender_tell_pod(struct clv_extender *extender, enum clv_extender_told what,
	const json_t *object, uint64_t now_ns);
/* Since when and why the nodes are not followed; why NULL: they are. */
void clv_extender_tell_state(
	struct clv_extender *extender, const char *why, uint64_t now_ns);

/* Whether all nodes are known.  ret: what is missing, or that what is known may be old.
 */
bool clv_extender_is_ready(
	struct clv_extender *extender, uint64_t now_ns, char *ret, size_t ret_bytes);
