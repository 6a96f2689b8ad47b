/* SPDX-License-Identifier: Apache-2.0 */
#include "functions.h"
#include "graph.h"
#include <stdlib.h>
#include <string.h>

/* Reading and changing the parameters of nodes. */

static bool is_of(const struct node *node, int type)
{
	return dcu_is_node(node) && node->params.type == type;
}

/* For node types whose parameters are a single member. */
#define PARAMS(kind, number, params_type, member)                                 \
	int dcu_cuGraph##kind##NodeGetParams(struct node *node, params_type *ret) \
	{                                                                         \
		if (!is_of(node, number) || !ret)                                 \
			return DCU_INVALID_VALUE;                                 \
		*ret = node->params.member;                                       \
		return 0;                                                         \
	}                                                                         \
	int dcu_cuGraph##kind##NodeSetParams(                                     \
		struct node *node, const params_type *value)                      \
	{                                                                         \
		struct node_params p = {.type = number};                          \
                                                                                  \
		if (!is_of(node, number) || !value)                               \
			return DCU_INVALID_VALUE;                                 \
		p.member = *value;                                                \
		return dcu_node_set(node, &p);                                    \
	}

PARAMS(Memcpy, DCU_NODE_COPY, struct copy_3d, copy.copy)
PARAMS(Memset, DCU_NODE_SET, struct set_params, set)
PARAMS(Host, DCU_NODE_HOST, struct host_params, host)

PARAMS(ExternalSemaphoresWait, DCU_NODE_AWAIT, struct semaphores_params, semaphores)

int dcu_cuGraphAddExternalSemaphoresWaitNode(struct node **ret, struct graph *graph,
	struct node *const *after, size_t n, const struct semaphores_params *params)
{
	struct node_params p = {.type = DCU_NODE_AWAIT};

	if (!params)
		return DCU_INVALID_VALUE;
	p.semaphores = *params;
	return dcu_node_add(graph, after, n, &p, ret);
}

int dcu_cuGraphExecExternalSemaphoresWaitNodeSetParams(
	struct exec *e, struct node *node, const struct semaphores_params *params)
{
	struct node_params p = {.type = DCU_NODE_AWAIT};

	if (!params)
		return DCU_INVALID_VALUE;
	p.semaphores = *params;
	return dcu_cuGraphExecNodeSetParams(e, node, &p);
}

#define EVENT(kind, number)                                                              \
	int dcu_cuGraphEvent##kind##NodeGetEvent(struct node *node, struct event **ret)  \
	{                                                                                \
		if (!is_of(node, number) || !ret)                                        \
			return DCU_INVALID_VALUE;                                        \
		*ret = node->params.event;                                               \
		return 0;                                                                \
	}                                                                                \
	int dcu_cuGraphEvent##kind##NodeSetEvent(struct node *node, struct event *event) \
	{                                                                                \
		struct node_params p = {.type = number};                                 \
                                                                                         \
		p.event = event;                                                         \
		return is_of(node, number) ? dcu_node_set(node, &p) : DCU_INVALID_VALUE; \
	}                                                                                \
	int dcu_cuGraphExecEvent##kind##NodeSetEvent(                                    \
		struct exec *e, struct node *node, struct event *event)                  \
	{                                                                                \
		struct node_params p = {.type = number};                                 \
                                                                                         \
		p.event = event;                                                         \
		return dcu_cuGraphExecNodeSetParams(e, node, &p);                        \
	}

EVENT(Record, DCU_NODE_RECORD_EVENT)
EVENT(Wait, DCU_NODE_WAIT_EVENT)

/* --- Attributes, which are stored and have no effect here --- */

#define VALUE_BYTES 64

int dcu_cuGraphKernelNodeGetAttribute(struct node *node, int attribute, void *ret)
{
	if (!is_of(node, DCU_NODE_KERNEL) || !ret)
		return DCU_INVALID_VALUE;
	memset(ret, 0, VALUE_BYTES);
	return 0;
}

int dcu_cuGraphKernelNodeSetAttribute(struct node *node, int attribute, const void *value)
{
	return is_of(node, DCU_NODE_KERNEL) && value ? 0 : DCU_INVALID_VALUE;
}

int dcu_cuGraphKernelNodeCopyAttributes(struct node *dst, struct node *src)
{
	return is_of(dst, DCU_NODE_KERNEL) && is_of(src, DCU_NODE_KERNEL)
		       ? 0
		       : DCU_INVALID_VALUE;
}

#define PRIORITY 8

int dcu_cuStreamGetAttribute(struct stream *handle, int attribute, void *ret)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	if (!ret)
		return DCU_INVALID_VALUE;
	memset(ret, 0, VALUE_BYTES);
	if (attribute == PRIORITY)
		*(int *)ret = s->priority;
	return 0;
}

int dcu_cuStreamSetAttribute(struct stream *handle, int attribute, const void *value)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (!s)
		return r;
	if (!value)
		return DCU_INVALID_VALUE;
	if (attribute == PRIORITY) {
		s->priority = *(const int *)value;
		atomic_store(&dgp_area->slots[s->slot].priority, s->priority);
	}
	return 0;
}

int dcu_cuStreamCopyAttributes(struct stream *dst, struct stream *src)
{
	int r;

	if (!dcu_stream(dst, &r) || !dcu_stream(src, &r))
		return r;
	return 0;
}

/* --- Objects that live as long as a graph --- */

struct object {
	uint32_t magic;
	unsigned refs;
	host_fn destroy;
	void *user;
};

static bool is_object(const struct object *o)
{
	return o && o->magic == DCU_IS_OBJECT;
}

int dcu_cuUserObjectCreate(
	struct object **ret, void *user, host_fn destroy, unsigned refs, unsigned flags)
{
	struct object *o;

	if (!ret || !destroy || !refs || flags != 1)
		return DCU_INVALID_VALUE;
	o = calloc(1, sizeof(*o));
	*o = (struct object){DCU_IS_OBJECT, refs, destroy, user};
	*ret = o;
	return 0;
}

int dcu_cuUserObjectRetain(struct object *o, unsigned n)
{
	if (!is_object(o) || !n)
		return DCU_INVALID_VALUE;
	o->refs += n;
	return 0;
}

int dcu_cuUserObjectRelease(struct object *o, unsigned n)
{
	if (!is_object(o) || !n || n > o->refs)
		return DCU_INVALID_VALUE;
	o->refs -= n;
	if (!o->refs) {
		o->magic = DCU_DEAD;
		o->destroy(o->user);
	}
	return 0;
}

/* In this double a graph keeps its objects for ever, unless it releases them itself. */
int dcu_cuGraphRetainUserObject(
	struct graph *graph, struct object *o, unsigned n, unsigned flags)
{
	if (!dcu_is_graph(graph) || flags > 1)
		return DCU_INVALID_VALUE;
	return flags ? (is_object(o) ? 0 : DCU_INVALID_VALUE)
		     : dcu_cuUserObjectRetain(o, n);
}

int dcu_cuGraphReleaseUserObject(struct graph *graph, struct object *o, unsigned n)
{
	return dcu_is_graph(graph) ? dcu_cuUserObjectRelease(o, n) : DCU_INVALID_VALUE;
}
