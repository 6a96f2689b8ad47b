/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <string.h>

/* Operations become packets, or HSA copies outside the queue, which wait for the mark of
 * the commands before them, and which a barrier waits for. The stream's lock is held in
 * all of these. */

#define DISPATCH (HSA_PACKET_DISPATCH | HSA_PACKET_BARRIER_BIT | HSA_PACKET_FENCES)

static void push_kernel(struct stream *s, const struct func *f, const uint32_t grid[3],
	const uint32_t block[3], const void *args, size_t bytes, struct mark *mark)
{
	uint64_t index;
	union hsa_packet *packet = dhi_packet_next(s, &index);
	struct hsa_dispatch *d = &packet->dispatch;

	d->setup = 3;
	for (int i = 0; i < 3; i++) {
		d->workgroup[i] = (uint16_t)block[i];
		d->grid[i] = grid[i];
	}
	d->kernel_object = f->object;
	d->kernarg = s->kernargs + index % QUEUE_PACKETS * KERNARG_BYTES;
	memcpy(d->kernarg, args, bytes);
	dhi_packet_ring(s, index, DISPATCH, mark);
}

static int push_builtin(
	struct stream *s, const struct func *f, const void *args, size_t bytes)
{
	static const uint32_t one[3] = {64, 1, 1};

	push_kernel(s, f, one, one, args, bytes, NULL);
	return 0;
}

static int perform_kernel(struct stream *s, const struct op *op)
{
	struct mark *mark = NULL;

	if (op->kernel.start) {
		mark = dhi_mark_new();
		dhi_barrier(s, NULL, mark);
		dhi_event_set(op->kernel.start, mark, s->device);
	}
	mark = op->kernel.stop ? dhi_mark_new() : NULL;
	push_kernel(s, op->kernel.func, op->kernel.grid, op->kernel.block,
		op->kernel.args, ARGS_MAX, mark);
	if (mark)
		dhi_event_set(op->kernel.stop, mark, s->device);
	return 0;
}

/* --- Copies --- */

static hsa_agent owner_of(const void *p, const struct device **ret_device)
{
	struct memory memory;

	*ret_device = NULL;
	if (!dhi_memory_find(p, &memory) || !dhi_is_device_memory(&memory))
		return dhi_cpu;
	*ret_device = memory.device;
	return memory.device->agent;
}

static int copy_rect(struct stream *s, const struct copy_args *c, int direction,
	hsa_agent agent, uint32_t n_deps, const hsa_signal *dep, hsa_signal completion)
{
	struct hsa_pitched dst = {c->dst, c->dst_pitch, c->dst_slice};
	struct hsa_pitched src = {(void *)(uintptr_t)c->src, c->src_pitch, c->src_slice};
	struct hsa_dim3 zero = {0}, range = {(uint32_t)c->width, (uint32_t)c->height,
					    (uint32_t)c->depth};

	return hsa_amd_memory_async_copy_rect(&dst, &zero, &src, &zero, &range, agent,
		direction, n_deps, dep, completion);
}

static int push_copy(struct stream *s, const struct copy_args *c,
	const struct device *dst_device, const struct device *src_device)
{
	hsa_agent dst = dst_device ? dst_device->agent : dhi_cpu;
	hsa_agent src = src_device ? src_device->agent : dhi_cpu;
	struct mark *before = dhi_stream_mark(s), *after = dhi_mark_new();
	hsa_signal dep = before ? before->signal : 0;
	int r;

	if (c->height == 1 && c->depth == 1)
		r = hsa_amd_memory_async_copy(c->dst, dst, c->src, src, c->width,
			before != NULL, &dep, after->signal);
	else
		r = copy_rect(s, c, src_device ? 2 : 1,
			src_device   ? src
			: dst_device ? dst
				     : s->device->agent,
			before != NULL, &dep, after->signal);
	/* The engine uses the mark before until its own command is complete. */
	after->behind = before;
	if (r)
		hsa_signal_store_screlease(after->signal, 0);
	dhi_mark_drop(s->pending);
	s->pending = after;
	return dhi_error_of(r);
}

static int perform_copy(struct stream *s, const struct op *op)
{
	const struct copy_args *c = &op->copy;
	const struct device *dst, *src;

	if (!c->width || !c->height || !c->depth)
		return 0;
	owner_of(c->dst, &dst);
	owner_of(c->src, &src);
	if (dst && dst == src && dst == s->device)
		return push_builtin(s, s->device->copy, c, sizeof(*c));
	return push_copy(s, c, dst, src);
}

/* --- Values in memory --- */

static int perform_value(struct stream *s, const struct op *op)
{
	struct fill_args fill = {.dst = op->value.p,
		.width = 4,
		.height = 1,
		.depth = 1,
		.element = 4,
		.value = (uint32_t)op->value.value};

	push_builtin(s, s->device->fill, &fill, sizeof(fill));
	if (op->value.bytes == 4)
		return 0;
	fill.dst += 4;
	fill.value = (uint32_t)(op->value.value >> 32);
	return push_builtin(s, s->device->fill, &fill, sizeof(fill));
}

static int perform_wait(struct stream *s, const struct op *op)
{
	struct mark *mark = op->event.mark;

	if (!mark && op->event.event)
		mark = op->event.event->mark;
	if (mark && !dhi_mark_is_done(mark))
		dhi_barrier(s, mark, NULL);
	return 0;
}

static int perform_record(struct stream *s, const struct op *op)
{
	struct mark *mark = dhi_mark_new();

	if (!mark)
		return HIP_OUT_OF_MEMORY;
	dhi_barrier(s, NULL, mark);
	dhi_event_set(op->event.event, mark, s->device);
	return 0;
}

static int perform_fill(struct stream *s, const struct op *op)
{
	if (!op->fill.width || !op->fill.height || !op->fill.depth)
		return 0;
	return push_builtin(s, s->device->fill, &op->fill, sizeof(op->fill));
}

static int perform_free(struct stream *s, const struct op *op)
{
	return dhi_pool_perform_free(s, op->memory.p);
}

static int perform_nothing(struct stream *s, const struct op *op)
{
	return 0;
}

static int (*const performers[])(struct stream *s, const struct op *op) = {
	[OP_EMPTY] = perform_nothing,
	[OP_KERNEL] = perform_kernel,
	[OP_COPY] = perform_copy,
	[OP_FILL] = perform_fill,
	[OP_HOST] = dhi_host_push,
	[OP_RECORD] = perform_record,
	[OP_WAIT] = perform_wait,
	[OP_WRITE] = perform_value,
	[OP_AWAIT] = dhi_host_push,
	[OP_SEMAPHORES] = dhi_semaphores_push,
	[OP_FREE] = perform_free,
	[OP_ALLOC] = perform_nothing,
};

static int perform(struct stream *s, const struct op *op)
{
	int r = 0;

	if (op->kind != OP_GRAPH) {
		dhi_stream_continue(s);
		return performers[op->kind](s, op);
	}
	for (size_t i = 0; i < op->graph->n && !r; i++)
		r = perform(s, &op->graph->order[i]->op);
	return r;
}

static int perform_all(struct stream *s, const struct op *op)
{
	struct marks marks;
	int r;

	dhi_stream_gather(s, &marks);
	pthread_mutex_lock(&s->lock);
	r = dhi_stream_ready(s, &marks);
	if (!r)
		r = perform(s, op);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int dhi_submit(struct stream *s, const struct op *op)
{
	int r = s->capture ? 0 : dhi_capture_check(s);

	if (r)
		return r;
	return s->capture ? dhi_capture_add(s, op) : perform_all(s, op);
}

int dhi_submit_sync(struct stream *s, const struct op *op)
{
	int r;

	if (s->capture) {
		dhi_capture_is_unsafe();
		return HIP_CAPTURE_UNSUPPORTED;
	}
	r = dhi_submit(s, op);
	if (!r)
		dhi_stream_await(s);
	return r;
}
