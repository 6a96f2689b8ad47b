/* SPDX-License-Identifier: Apache-2.0 */
#include "../../gpu/client/helper.h"
#include "internal.h"
#include <stdlib.h>
#include <string.h>

/* The packet processor: the packets of a ring, up to the doorbell's value, become
 * commands of the machine, one each. It stops at a packet that is not valid yet. A packet
 * that it cannot read stops the queue. */

struct fill {
	char *dst;
	size_t pitch, slice, width, height, depth;
	uint32_t value, element;
};

struct copying {
	char *dst;
	const char *src;
	size_t dst_pitch, dst_slice, src_pitch, src_slice, width, height, depth;
};

static uint64_t groups_of(const struct hsa_dispatch *d)
{
	uint64_t n = 1;

	for (int i = 0; i < 3; i++) {
		uint32_t size = d->workgroup[i] ? d->workgroup[i] : 1;

		n *= d->grid[i] ? (d->grid[i] + size - 1) / size : 1;
	}
	return n;
}

static uint64_t time_within(uint64_t bytes)
{
	return bytes * 1000 / dgp_hello.device_mb_s;
}

static void set_fill(struct dgp_cmd *cmd, const struct fill *f)
{
	struct effect *e = dgp_effect_fill(f->dst, f->value, f->element, 0);

	e->width = f->width;
	e->height = f->height;
	e->depth = f->depth;
	e->dst_pitch = f->pitch;
	e->dst_slice = f->slice;
	cmd->effect = (uint64_t)(uintptr_t)e;
	cmd->ns = time_within(f->width * f->height * f->depth);
}

static void set_copy(struct dgp_cmd *cmd, const struct copying *c)
{
	struct effect *e = dgp_effect_copy(c->dst, c->src, c->width);

	e->height = c->height;
	e->depth = c->depth;
	e->dst_pitch = c->dst_pitch;
	e->dst_slice = c->dst_slice;
	e->src_pitch = c->src_pitch;
	e->src_slice = c->src_slice;
	cmd->effect = (uint64_t)(uintptr_t)e;
	cmd->ns = time_within(2 * c->width * c->height * c->depth);
}

static void set_store(struct dgp_cmd *cmd, const struct kernel *k, const void *kernarg)
{
	struct {
		char *to;
		uint32_t value;
	} args;

	memcpy(&args, kernarg, 12);
	cmd->ns = k->ns;
	cmd->effect = (uint64_t)(uintptr_t)dgp_effect_fill(args.to, args.value, 4, 1);
}

static void set_spin(struct dgp_cmd *cmd, const struct kernel *k, const void *kernarg)
{
	struct {
		char *at;
		uint32_t value;
		char *out;
		uint32_t out_value, turns;
	} args = {0};
	static const size_t bytes[] = {
		[KERNEL_AWAIT] = 12, [KERNEL_RELAY] = 28, [KERNEL_SERVE] = 32};
	struct dgp_spin spin;

	memcpy(&args, kernarg, bytes[k->kind]);
	spin = (struct dgp_spin){.at = args.at,
		.value = args.value,
		.out = args.out,
		.out_value = args.out_value,
		.turns = args.turns ? args.turns : 1};
	dgp_spin_cmd(&spin, cmd);
}

static int read_dispatch(const struct hsa_dispatch *d, struct dgp_cmd *cmd)
{
	const struct kernel *k = dhs_kernel(d->kernel_object);

	if (!k)
		return HSA_INVALID_CODE;
	if (k->kind >= KERNEL_STORE && !d->kernarg)
		return HSA_INVALID_ARGUMENT;
	cmd->kind = DGP_KERNEL;
	cmd->name = k->name_number;
	cmd->ns = k->ns;
	cmd->units = k->units;
	if (k->kind == KERNEL_PARAM)
		memcpy(&cmd->ns, d->kernarg, sizeof(cmd->ns));
	else if (k->kind == KERNEL_SCALED)
		cmd->ns = k->ns * groups_of(d);
	else if (k->kind == KERNEL_STORE)
		set_store(cmd, k, d->kernarg);
	else if (k->kind == KERNEL_FILL)
		set_fill(cmd, d->kernarg);
	else if (k->kind == KERNEL_COPY)
		set_copy(cmd, d->kernarg);
	else if (k->kind >= KERNEL_AWAIT)
		set_spin(cmd, k, d->kernarg);
	return 0;
}

static int read_barrier(const struct hsa_barrier *b, bool any, struct dgp_cmd *cmd)
{
	cmd->kind = DGP_BARRIER;
	cmd->mask = UINT64_MAX;
	cmd->any = any;
	for (int i = 0; i < 5; i++) {
		uint32_t number;

		if (!b->deps[i])
			continue;
		number = dhs_signal_number(b->deps[i]);
		if (number == NO_SIGNAL)
			return HSA_INVALID_SIGNAL;
		cmd->signals[i] = number + 1;
	}
	return 0;
}

static int read_value(const struct hsa_barrier_value *v, struct dgp_cmd *cmd)
{
	uint32_t number = dhs_signal_number(v->signal);

	if (v->format != 2)
		return HSA_INVALID_PACKET;
	if (number == NO_SIGNAL)
		return HSA_INVALID_SIGNAL;
	cmd->kind = DGP_BARRIER;
	cmd->condition = (uint16_t)v->condition;
	cmd->mask = (uint64_t)v->mask;
	cmd->value = (uint64_t)v->value;
	cmd->signals[0] = number + 1;
	return 0;
}

/* The completion signal is at the same offset in all packets. */
static int read_packet(const union hsa_packet *packet, struct dgp_cmd *cmd)
{
	uint32_t number = packet->dispatch.completion
				  ? dhs_signal_number(packet->dispatch.completion)
				  : NO_SIGNAL;

	*cmd = (struct dgp_cmd){0};
	if (packet->dispatch.completion && number == NO_SIGNAL)
		return HSA_INVALID_SIGNAL;
	cmd->completion = number + 1;
	switch (packet->dispatch.header & 0xff) {
	case HSA_PACKET_DISPATCH:
		return read_dispatch(&packet->dispatch, cmd);
	case HSA_PACKET_BARRIER_AND:
	case HSA_PACKET_BARRIER_OR:
		return read_barrier(&packet->barrier,
			(packet->dispatch.header & 0xff) == HSA_PACKET_BARRIER_OR, cmd);
	case HSA_PACKET_VENDOR:
		return read_value(&packet->value, cmd);
	}
	return HSA_INVALID_PACKET;
}

struct report {
	struct queue *queue;
	int status;
};

static void tell_error(void *user)
{
	struct report *report = user;

	report->queue->error(
		report->status, &report->queue->amd.queue, report->queue->user);
	free(report);
}

static void fail(struct queue *q, int status)
{
	struct report *report;

	q->is_inactive = true;
	if (!q->error)
		return;
	report = malloc(sizeof(*report));
	*report = (struct report){q, status};
	dhs_hsa_amd_async_function(tell_error, report);
}

static void submit(struct queue *q, struct dgp_cmd *cmd)
{
	uint32_t completion = cmd->completion;
	uint64_t seq = 0;

	if (dgp_push(q->slot, NULL, cmd, &seq))
		q->is_inactive = true;
	else if (completion)
		dhs_signal_promise(completion - 1, q->slot, seq);
}

void dhs_queue_process(struct queue *q, int64_t until)
{
	union hsa_packet *ring = q->amd.queue.base_address;

	pthread_mutex_lock(&q->lock);
	if (until > q->doorbell)
		q->doorbell = until;
	while (!q->is_inactive && (int64_t)q->processed <= q->doorbell) {
		union hsa_packet *packet = &ring[q->processed % q->amd.queue.size];
		struct dgp_cmd cmd;
		int r;

		if ((atomic_load(&packet->header) & 0xff) == HSA_PACKET_INVALID)
			break;
		r = read_packet(packet, &cmd);
		if (r) {
			fail(q, r);
			break;
		}
		submit(q, &cmd);
		atomic_store(&packet->header, HSA_PACKET_INVALID);
		q->processed++;
	}
	pthread_mutex_unlock(&q->lock);
}
