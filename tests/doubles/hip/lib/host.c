/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdlib.h>
#include <string.h>

/* Host functions in a stream: a barrier signals HSA's thread, which calls the function,
 * and another barrier blocks the stream until it has returned. A wait for a value in
 * memory uses the same two, and polls. */

struct task {
	struct op op;
	struct mark *before, *after;
};

static void finish(struct task *task)
{
	hsa_signal_store_screlease(task->after->signal, 0);
	dhi_mark_drop(task->before);
	dhi_mark_drop(task->after);
	free(task);
}

static bool call(int64_t value, void *user)
{
	struct task *task = user;

	if (task->op.host.of_stream)
		task->op.host.of_stream(task->op.host.stream, 0, task->op.host.user);
	else
		task->op.host.fn(task->op.host.user);
	finish(task);
	return false;
}

static bool has_value(const struct op *op)
{
	uint64_t now = 0, want = op->value.value;

	memcpy(&now, op->value.p, op->value.bytes);
	now &= op->value.mask;
	switch (op->value.how) {
	case 0:
		return op->value.bytes == 4
			       ? (int32_t)((uint32_t)now - (uint32_t)want) >= 0
			       : (int64_t)(now - want) >= 0;
	case 1:
		return now == want;
	case 2:
		return now & want;
	}
	return (op->value.bytes == 4 ? (uint32_t) ~(now | want) : ~(now | want)) != 0;
}

static void *look(void *user)
{
	struct timespec little = {.tv_nsec = 50000};
	struct task *task = user;

	while (!has_value(&task->op))
		nanosleep(&little, NULL);
	finish(task);
	return NULL;
}

/* HSA's thread must not block: the awaited value may need it. */
static bool start_looking(int64_t value, void *user)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, look, user) == 0)
		pthread_detach(thread);
	return false;
}

int dhi_host_push(struct stream *s, const struct op *op)
{
	struct task *task = malloc(sizeof(*task));

	*task = (struct task){*op, dhi_mark_new(), dhi_mark_new()};
	dhi_barrier(s, NULL, task->before);
	dhi_barrier(s, task->after, NULL);
	hsa_amd_signal_async_handler(task->before->signal, HSA_LT, 1,
		op->kind == OP_HOST ? call : start_looking, task);
	return 0;
}

int dhi_hipLaunchHostFunc(struct stream *handle, host_fn fn, void *user)
{
	struct stream *s = dhi_stream(handle);
	struct op op = {.kind = OP_HOST, .host = {.fn = fn, .user = user}};

	if (!s || !fn)
		return HIP_INVALID_VALUE;
	return dhi_submit(s, &op);
}

int dhi_hipStreamAddCallback(
	struct stream *handle, stream_fn fn, void *user, unsigned flags)
{
	struct stream *s = dhi_stream(handle);
	struct op op = {.kind = OP_HOST,
		.host = {.of_stream = fn, .stream = handle, .user = user}};

	if (!s || !fn || flags)
		return HIP_INVALID_VALUE;
	return s->capture ? HIP_CAPTURE_UNSUPPORTED : dhi_submit(s, &op);
}

/* --- Values --- */

static int value(struct stream *handle, enum op_kind kind, void *p, uint64_t number,
	uint64_t mask, unsigned how, unsigned bytes)
{
	struct stream *s = dhi_stream(handle);
	struct op op = {.kind = kind, .value = {p, number & mask, mask, bytes, how}};
	struct memory memory;

	if (!s || how > 3 || !dhi_memory_find(p, &memory))
		return HIP_INVALID_VALUE;
	return dhi_submit(s, &op);
}

int dhi_hipStreamWaitValue32(
	struct stream *stream, void *p, uint32_t number, unsigned flags, uint32_t mask)
{
	return value(stream, OP_AWAIT, p, number, mask, flags, 4);
}

int dhi_hipStreamWaitValue64(
	struct stream *stream, void *p, uint64_t number, unsigned flags, uint64_t mask)
{
	return value(stream, OP_AWAIT, p, number, mask, flags, 8);
}

int dhi_hipStreamWriteValue32(
	struct stream *stream, void *p, uint32_t number, unsigned flags)
{
	return value(stream, OP_WRITE, p, number, UINT32_MAX, 0, 4);
}

int dhi_hipStreamWriteValue64(
	struct stream *stream, void *p, uint64_t number, unsigned flags)
{
	return value(stream, OP_WRITE, p, number, UINT64_MAX, 0, 8);
}
