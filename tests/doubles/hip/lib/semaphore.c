/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Semaphores of other interfaces: each is a number of 64 bits in a file, which streams
 * wait for as for values in memory. They are never unmapped. */

#define TIMELINE_FD 9
#define VALUE_BYTES 8

struct semaphore {
	uint32_t magic;
	char *value;
};

int dhi_hipImportExternalSemaphore(
	struct semaphore **ret, const struct semaphore_handle *handle)
{
	struct semaphore *s;
	void *at;

	if (!ret || !handle || handle->type != TIMELINE_FD)
		return HIP_INVALID_VALUE;
	at = mmap(NULL, VALUE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		handle->handle.fd, 0);
	if (at == MAP_FAILED)
		return HIP_INVALID_VALUE;
	s = calloc(1, sizeof(*s));
	s->magic = IS_SEMAPHORE;
	s->value = at;
	/* From here on the driver owns the descriptor. */
	close(handle->handle.fd);
	*ret = s;
	return 0;
}

int dhi_hipDestroyExternalSemaphore(struct semaphore *s)
{
	if (!s || s->magic != IS_SEMAPHORE)
		return HIP_INVALID_VALUE;
	s->magic = 0;
	return 0;
}

/* The node keeps a copy of the parameters. */
static int await_op(const struct semaphores_params *p, struct op *ret)
{
	size_t bytes, value_bytes;
	void *semaphores, *values;

	if (!p || !p->semaphores || !p->values)
		return HIP_INVALID_VALUE;
	for (unsigned i = 0; i < p->n; i++)
		if (!p->semaphores[i] || p->semaphores[i]->magic != IS_SEMAPHORE)
			return HIP_INVALID_VALUE;
	bytes = p->n * sizeof(*p->semaphores);
	value_bytes = p->n * sizeof(*p->values);
	semaphores = malloc(bytes + 1);
	values = malloc(value_bytes + 1);
	*ret = (struct op){.kind = OP_SEMAPHORES};
	ret->semaphores.semaphores = memcpy(semaphores, p->semaphores, bytes);
	ret->semaphores.values = memcpy(values, p->values, value_bytes);
	ret->semaphores.n = p->n;
	return 0;
}

int dhi_semaphores_push(struct stream *s, const struct op *op)
{
	const struct semaphores_params *p = &op->semaphores;
	int r = 0;

	for (unsigned i = 0; i < p->n && !r; i++) {
		struct op await = {.kind = OP_AWAIT};

		await.value.p = p->semaphores[i]->value;
		await.value.value = p->values[i].value;
		await.value.mask = UINT64_MAX;
		await.value.bytes = VALUE_BYTES;
		r = dhi_host_push(s, &await);
	}
	return r;
}

int dhi_hipWaitExternalSemaphoresAsync(struct semaphore *const *all,
	const struct semaphore_value *values, unsigned n, struct stream *handle)
{
	struct semaphores_params p = {all, values, n};
	struct stream *s = dhi_stream(handle);
	struct op op;
	int r = s ? await_op(&p, &op) : HIP_INVALID_VALUE;

	return r ? r : dhi_submit(s, &op);
}

/* --- Nodes of semaphores, since ROCm 6 --- */

int dhi_hipGraphAddExternalSemaphoresWaitNode(struct node **ret, struct graph *graph,
	struct node *const *deps, size_t n, const struct semaphores_params *p)
{
	struct op op;
	int r = await_op(p, &op);

	return r ? r : dhi_node_add(ret, graph, deps, n, &op);
}

int dhi_hipGraphExternalSemaphoresWaitNodeGetParams(
	struct node *node, struct semaphores_params *ret)
{
	if (!node || !node->graph || node->op.kind != OP_SEMAPHORES || !ret)
		return HIP_INVALID_VALUE;
	*ret = node->op.semaphores;
	return 0;
}

int dhi_hipGraphExecExternalSemaphoresWaitNodeSetParams(
	struct exec *exec, struct node *node, const struct semaphores_params *p)
{
	struct node *copy = dhi_is_exec(exec) ? dhi_graph_find(exec->graph, node) : NULL;

	return copy && copy->op.kind == OP_SEMAPHORES ? await_op(p, &copy->op)
						      : HIP_INVALID_VALUE;
}
