/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Queues: rings of packets in the process, each with a slot of the machine. */

#define KIND_DOORBELL (-1)
#define FEATURE_DISPATCH 1

static struct queue *of(const struct hsa_queue *queue)
{
	return (struct queue *)(uintptr_t)queue;
}

static union hsa_packet *new_ring(uint32_t size)
{
	union hsa_packet *ring = mmap(NULL, (size_t)size * sizeof(*ring),
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (ring == MAP_FAILED)
		return NULL;
	for (uint32_t i = 0; i < size; i++)
		atomic_store(&ring[i].header, HSA_PACKET_INVALID);
	return ring;
}

static struct queue *new_queue(uint32_t size, uint32_t type, uint32_t features)
{
	static _Atomic uint64_t last_id;
	struct queue *q = aligned_alloc(64, (sizeof(*q) + 63) / 64 * 64);

	memset(q, 0, sizeof(*q));
	q->slot = -1;
	pthread_mutex_init(&q->lock, NULL);
	q->amd.queue = (struct hsa_queue){.type = type,
		.features = features,
		.base_address = new_ring(size),
		.size = size,
		.id = last_id++};
	if (q->amd.queue.base_address)
		return q;
	free(q);
	return NULL;
}

static void free_queue(struct queue *q)
{
	munmap(q->amd.queue.base_address, (size_t)q->amd.queue.size * 64);
	free(q);
}

static int start_queue(struct queue *q)
{
	struct agent *agent = q->agent;
	uint32_t context = dhs_context(agent);
	struct dgp_signal *doorbell;
	hsa_signal signal;

	q->slot = context ? dgp_slot_open(context, 0, 0) : -1;
	if (q->slot < 0)
		return HSA_OUT_OF_RESOURCES;
	signal = dhs_signal_new(0);
	if (!signal) {
		dgp_slot_close(q->slot);
		return HSA_OUT_OF_RESOURCES;
	}
	q->first = dgp_slot_tail(q->slot);
	q->doorbell = -1;
	doorbell = dhs_signal_at(dhs_signal_number(signal));
	doorbell->kind = KIND_DOORBELL;
	doorbell->queue = dhs_handle(q);
	q->amd.queue.doorbell = signal;
	dhs_mask_default(agent, q->mask);
	dhs_mask_apply(q);
	return 0;
}

static bool is_size(uint32_t size)
{
	return size && !(size & (size - 1));
}

int dhs_hsa_queue_create(hsa_agent handle, uint32_t size, uint32_t type,
	hsa_queue_error error, void *user, uint32_t private_bytes, uint32_t group_bytes,
	struct hsa_queue **ret)
{
	struct agent *agent = dhs_agent(handle);
	struct queue *q;
	int r;

	if (!agent)
		return HSA_INVALID_AGENT;
	if (!ret || !is_size(size) || size > 131072)
		return HSA_INVALID_ARGUMENT;
	if (agent->kind != HSA_DEVICE_GPU)
		return HSA_INVALID_QUEUE_CREATION;
	q = new_queue(size < 64 ? 64 : size, type, FEATURE_DISPATCH);
	if (!q)
		return HSA_OUT_OF_RESOURCES;
	q->agent = agent;
	q->error = error;
	q->user = user;
	r = start_queue(q);
	if (r)
		free_queue(q);
	else
		*ret = &q->amd.queue;
	return r;
}

/* The remaining packets end without being run. */
static void stop(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	if (!q->is_inactive && q->slot >= 0) {
		atomic_store(&dgp_area->slots[q->slot].dead, 1);
		dgp_ring();
	}
	q->is_inactive = true;
	pthread_mutex_unlock(&q->lock);
}

int dhs_hsa_queue_destroy(struct hsa_queue *queue)
{
	struct queue *q = of(queue);

	if (!queue)
		return HSA_INVALID_ARGUMENT;
	stop(q);
	if (q->slot >= 0) {
		dhs_hsa_signal_destroy(queue->doorbell);
		dgp_slot_close(q->slot);
	}
	free_queue(q);
	return 0;
}

int dhs_hsa_amd_queue_set_priority(struct hsa_queue *queue, int priority)
{
	static const int of_machine[] = {1, 0, -1};

	if (!queue)
		return HSA_INVALID_QUEUE;
	if (priority < 0 || priority > 2)
		return HSA_INVALID_ARGUMENT;
	if (of(queue)->slot >= 0)
		atomic_store(
			&dgp_area->slots[of(queue)->slot].priority, of_machine[priority]);
	return 0;
}

/* --- Indices --- */

/* A packet counts as read when it is complete, so that its place is not reused before. */
static uint64_t read_index(const struct hsa_queue *queue)
{
	struct queue *q = of(queue);

	if (q->slot >= 0) {
		uint64_t done = atomic_load(&dgp_area->slots[q->slot].done);

		atomic_store(&q->amd.read_index, done < q->first ? 0 : done - q->first);
	}
	return atomic_load(&q->amd.read_index);
}

#define LOAD_INDEX(order)                                                          \
	uint64_t hsa_queue_load_read_index_##order(const struct hsa_queue *queue)  \
	{                                                                          \
		return read_index(queue);                                          \
	}                                                                          \
	uint64_t hsa_queue_load_write_index_##order(const struct hsa_queue *queue) \
	{                                                                          \
		return atomic_load(&of(queue)->amd.write_index);                   \
	}
LOAD_INDEX(relaxed)
LOAD_INDEX(acquire)
LOAD_INDEX(scacquire)

#define STORE_INDEX(order)                                        \
	void hsa_queue_store_read_index_##order(                  \
		const struct hsa_queue *queue, uint64_t value)    \
	{                                                         \
		atomic_store(&of(queue)->amd.read_index, value);  \
	}                                                         \
	void hsa_queue_store_write_index_##order(                 \
		const struct hsa_queue *queue, uint64_t value)    \
	{                                                         \
		atomic_store(&of(queue)->amd.write_index, value); \
	}
STORE_INDEX(relaxed)
STORE_INDEX(release)
STORE_INDEX(screlease)

#define CHANGE_INDEX(order)                                                       \
	uint64_t hsa_queue_add_write_index_##order(                               \
		const struct hsa_queue *queue, uint64_t value)                    \
	{                                                                         \
		return atomic_fetch_add(&of(queue)->amd.write_index, value);      \
	}                                                                         \
	uint64_t hsa_queue_cas_write_index_##order(                               \
		const struct hsa_queue *queue, uint64_t expected, uint64_t value) \
	{                                                                         \
		atomic_compare_exchange_strong(                                   \
			&of(queue)->amd.write_index, &expected, value);           \
		return expected;                                                  \
	}
CHANGE_INDEX(relaxed)
CHANGE_INDEX(acquire)
CHANGE_INDEX(release)
CHANGE_INDEX(acq_rel)
CHANGE_INDEX(scacquire)
CHANGE_INDEX(screlease)
CHANGE_INDEX(scacq_screl)

/* --- Times --- */

int dhs_hsa_amd_profiling_set_profiler_enabled(struct hsa_queue *queue, int enable)
{
	return queue ? 0 : HSA_INVALID_QUEUE;
}

static int give_time(hsa_signal handle, struct hsa_time *ret)
{
	uint32_t number = dhs_signal_number(handle);

	if (number == NO_SIGNAL)
		return HSA_INVALID_SIGNAL;
	if (!ret)
		return HSA_INVALID_ARGUMENT;
	*ret = (struct hsa_time){
		dhs_signal_at(number)->start_ns, dhs_signal_at(number)->end_ns};
	return ret->end ? 0 : HSA_ERROR;
}

int dhs_hsa_amd_profiling_get_dispatch_time(
	hsa_agent agent, hsa_signal signal, struct hsa_time *ret)
{
	return dhs_agent(agent) ? give_time(signal, ret) : HSA_INVALID_AGENT;
}
