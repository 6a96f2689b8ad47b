/* SPDX-License-Identifier: Apache-2.0 */
/* Follows nodes and pods for the extender. */
#include "bridge/extender/nodes.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bridge/extender/extender.h"
#include "bridge/kubernetes/apiserver/follow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Of a node only the annotation is needed.  Of pods these are few in any cluster. */
#define NODES "/api/v1/nodes"
#define PODS "/api/v1/pods"
#define BOUND_PODS "status.phase%3DPending%2Cspec.nodeName%21%3D"

struct clv_nodes {
	struct clv_kube_follower *nodes, *pods;
};

typedef void (*tell_fn)(struct clv_extender *extender, enum clv_extender_told what,
	const json_t *object, uint64_t now_ns);

static void pass_on(
	tell_fn tell, void *userdata, enum clv_kube_change change, const json_t *object)
{
	static const enum clv_extender_told told[] = {
		[CLV_KUBE_LISTED] = CLV_EXTENDER_LISTED,
		[CLV_KUBE_CHANGED] = CLV_EXTENDER_CHANGED,
		[CLV_KUBE_DELETED] = CLV_EXTENDER_DELETED,
	};

	tell(userdata, told[change], object, clv_clock_ns());
}

/* --- Nodes --- */

static void begin_nodes(void *userdata)
{
	clv_extender_tell_node(userdata, CLV_EXTENDER_LIST_BEGINS, NULL, clv_clock_ns());
}

static void end_nodes(void *userdata)
{
	clv_extender_tell_node(userdata, CLV_EXTENDER_LIST_ENDS, NULL, clv_clock_ns());
}

static void take_node(void *userdata, enum clv_kube_change change, const json_t *object)
{
	pass_on(clv_extender_tell_node, userdata, change, object);
}

static void tell_nodes(void *userdata, const char *why)
{
	clv_extender_tell_state(userdata, why, clv_clock_ns());
	if (why)
		clv_log_warning(0,
			"changes of nodes do not arrive, the last list is used: %s", why);
	else
		clv_log_info("changes of nodes arrive");
}

static const struct clv_kube_follower_ops node_ops = {
	begin_nodes, take_node, end_nodes, tell_nodes};

/* --- Pods --- */

static void begin_pods(void *userdata)
{
	clv_extender_tell_pod(userdata, CLV_EXTENDER_LIST_BEGINS, NULL, clv_clock_ns());
}

static void end_pods(void *userdata)
{
	clv_extender_tell_pod(userdata, CLV_EXTENDER_LIST_ENDS, NULL, clv_clock_ns());
}

static void take_pod(void *userdata, enum clv_kube_change change, const json_t *object)
{
	pass_on(clv_extender_tell_pod, userdata, change, object);
}

static void tell_pods(void *userdata, const char *why)
{
	if (why)
		clv_log_warning(0, "pods that others bind are not seen in time: %s", why);
	else
		clv_log_info("pods that others bind are seen");
}

static const struct clv_kube_follower_ops pod_ops = {
	begin_pods, take_pod, end_pods, tell_pods};

/* --- Both --- */

int clv_nodes_new(struct clv_extender *extender, const char *kubeconfig,
	struct clv_nodes **ret, struct clv_error *err)
{
	const struct clv_kube_follower_options of_nodes = {.path = NODES,
		.is_metadata = true,
		.ops = &node_ops,
		.userdata = extender};
	const struct clv_kube_follower_options of_pods = {.path = PODS,
		.fields = BOUND_PODS,
		.ops = &pod_ops,
		.userdata = extender};
	struct clv_nodes *nodes = calloc(1, sizeof(*nodes));
	struct clv_kube_settings settings;
	int r;

	if (!nodes)
		return clv_error_errno(err, ENOMEM, "cannot start");
	clv_kube_settings_init(&settings);
	snprintf(settings.kubeconfig, sizeof(settings.kubeconfig), "%s",
		kubeconfig ? kubeconfig : "");
	r = clv_kube_follower_new(&settings, &of_nodes, &nodes->nodes, err);
	if (r >= 0)
		r = clv_kube_follower_new(&settings, &of_pods, &nodes->pods, err);
	if (r < 0) {
		clv_nodes_free(nodes);
		return r;
	}
	*ret = nodes;
	return 0;
}

struct clv_nodes *clv_nodes_free(struct clv_nodes *nodes)
{
	if (!nodes)
		return NULL;
	clv_kube_follower_free(nodes->nodes);
	clv_kube_follower_free(nodes->pods);
	free(nodes);
	return NULL;
}
