/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Packets of a stream's queue. */

/* Releases the references that the queue no longer needs. */
static void release_held(struct stream *s)
{
	uint64_t read = hsa_queue_load_read_index_relaxed(s->queue);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->n_held; i++) {
		if (s->held[i].until > read)
			s->held[kept++] = s->held[i];
		else
			dhi_mark_drop(s->held[i].mark);
	}
	s->n_held = kept;
}

static void hold(struct stream *s, struct mark *mark, uint64_t until)
{
	if (s->n_held >= 64 && s->n_held % 64 == 0)
		release_held(s);
	if (s->n_held == s->held_room) {
		s->held_room = s->held_room * 2 + 64;
		s->held = realloc(s->held, s->held_room * sizeof(*s->held));
	}
	s->held[s->n_held++] = (struct held){dhi_mark_keep(mark), until};
}

static struct mark **checkpoint_at(struct stream *s, uint64_t index)
{
	return &s->checkpoints[index / (QUEUE_PACKETS / CHECKPOINTS) % CHECKPOINTS];
}

/* Waits for a quarter of the queue: waking a thread costs more than a packet. */
static void await_room(struct stream *s, uint64_t index)
{
	while (index - hsa_queue_load_read_index_scacquire(s->queue) >= QUEUE_PACKETS) {
		struct mark **at = checkpoint_at(s, index);

		if (*at && !dhi_mark_is_done(*at))
			dhi_mark_await(*at);
		else
			usleep(100);
	}
}

union hsa_packet *dhi_packet_next(struct stream *s, uint64_t *ret_index)
{
	uint64_t index = hsa_queue_add_write_index_relaxed(s->queue, 1);
	union hsa_packet *packet =
		(union hsa_packet *)s->queue->base_address + index % QUEUE_PACKETS;

	await_room(s, index);
	memset(packet->bytes + sizeof(packet->header), 0,
		sizeof(*packet) - sizeof(packet->header));
	*ret_index = index;
	return packet;
}

static bool is_checkpoint(uint64_t index)
{
	return index % (QUEUE_PACKETS / CHECKPOINTS) == QUEUE_PACKETS / CHECKPOINTS - 1;
}

void dhi_packet_ring(struct stream *s, uint64_t index, uint16_t header, struct mark *mark)
{
	union hsa_packet *packet =
		(union hsa_packet *)s->queue->base_address + index % QUEUE_PACKETS;
	struct mark *own = NULL;

	if (!mark && is_checkpoint(index))
		mark = own = dhi_mark_new();
	if (mark)
		packet->dispatch.completion = mark->signal;
	if (mark && is_checkpoint(index)) {
		dhi_mark_drop(*checkpoint_at(s, index));
		*checkpoint_at(s, index) = dhi_mark_keep(mark);
	}
	atomic_store(&packet->header, header);
	s->n_packets++;
	if (mark) {
		dhi_mark_drop(s->tail);
		s->tail = dhi_mark_keep(mark);
		s->tail_packets = s->n_packets;
	}
	dhi_mark_drop(own);
	hsa_signal_store_screlease(s->queue->doorbell, (int64_t)index);
}

void dhi_barrier(struct stream *s, struct mark *dep, struct mark *completion)
{
	uint64_t index;
	union hsa_packet *packet = dhi_packet_next(s, &index);

	if (dep) {
		packet->barrier.deps[0] = dep->signal;
		hold(s, dep, index + 1);
	}
	dhi_packet_ring(s, index,
		HSA_PACKET_BARRIER_AND | HSA_PACKET_BARRIER_BIT | HSA_PACKET_FENCES,
		completion);
}
