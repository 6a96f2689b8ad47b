/* SPDX-License-Identifier: Apache-2.0 */
/* The table of queue records: lock-free to read; writers take a mutex. */
#include "gate/queue/table.h"

#include "gate/process/hot.h"
#include "gate/process/lock.h"
#include "gate/process/queue-record.h"
#include "gate/process/state.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 256
#define TOMBSTONE ((struct clv_queue *)&tombstone)

struct clv_table {
	uint32_t size;   /* a power of two */
	uint32_t n_used; /* tombstones included */
	_Atomic(struct clv_queue *) entries[];
};

static _Atomic(struct clv_table *) current;
static _Atomic uint32_t n_live;
static struct clv_queue *free_records;
static pthread_mutex_t change_lock = PTHREAD_MUTEX_INITIALIZER;
static char tombstone;

__attribute__((constructor)) static void begin_lock(void)
{
	clv_lock_init(&change_lock, PTHREAD_MUTEX_NORMAL);
}

static uint32_t hash(const void *handle)
{
	return (uint32_t)(((uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
}

struct clv_queue *clv_queue_find_known(const void *handle)
{
	struct clv_table *table = atomic_load_explicit(&current, memory_order_acquire);
	struct clv_queue *queue;

	if (!table)
		return NULL;
	for (uint32_t i = hash(handle);; i++) {
		queue = atomic_load_explicit(
			&table->entries[i & (table->size - 1)], memory_order_acquire);
		if (!queue)
			return NULL;
		if (queue != TOMBSTONE && queue->handle == handle)
			return queue;
	}
}

static void insert(struct clv_table *table, struct clv_queue *queue)
{
	for (uint32_t i = hash(queue->handle);; i++) {
		_Atomic(struct clv_queue *) *entry =
			&table->entries[i & (table->size - 1)];
		struct clv_queue *there = atomic_load(entry);

		if (there && there != TOMBSTONE)
			continue;
		table->n_used += there == NULL;
		atomic_store_explicit(entry, queue, memory_order_release);
		return;
	}
}

/* Copies the live records to a larger table, or to one without tombstones, if needed.
 * The old table stays for readers that still use it. */
static bool make_room(void)
{
	struct clv_table *old = atomic_load(&current), *table;
	uint32_t size = FIRST_SIZE;

	if (old && (old->n_used + 1) * 2 <= old->size)
		return true;
	while (size < 4 * (atomic_load(&n_live) + 1))
		size *= 2;
	table = calloc(1, sizeof(*table) + size * sizeof(table->entries[0]));
	if (!table)
		return false;
	table->size = size;
	for (uint32_t i = 0; old && i < old->size; i++) {
		struct clv_queue *queue = atomic_load(&old->entries[i]);

		if (queue && queue != TOMBSTONE)
			insert(table, queue);
	}
	atomic_store_explicit(&current, table, memory_order_release);
	return true;
}

static struct clv_queue *allocate_record(void)
{
	struct clv_queue *queue = calloc(1, clv_gate.api->queues->record_bytes);

	if (queue)
		clv_lock_init(&queue->mark_lock, PTHREAD_MUTEX_ERRORCHECK);
	return queue;
}

/* Reuses a record.  A thread that found it as the earlier queue's may be about to mark
 * that queue: either it has the mark_lock, or it finds the record released until the
 * record is initialized. */
static struct clv_queue *reuse_record(void)
{
	struct clv_queue *queue = free_records;
	const size_t lock_at = offsetof(struct clv_queue, mark_lock);
	const size_t rest_at = lock_at + sizeof(queue->mark_lock);

	free_records = queue->next_free;
	pthread_mutex_lock(&queue->mark_lock);
	memset(queue, 0, lock_at);
	memset((char *)queue + rest_at, 0, clv_gate.api->queues->record_bytes - rest_at);
	atomic_store(&queue->released, 1);
	pthread_mutex_unlock(&queue->mark_lock);
	return queue;
}

static struct clv_queue *new_record(const void *handle)
{
	struct clv_queue *queue = free_records ? reuse_record() : allocate_record();

	if (!queue)
		return NULL;
	queue->handle = handle;
	queue->application_references = 1;
	atomic_store(&queue->n_uses, 1);
	clv_gate.api->queues->begin(queue);
	atomic_store(&queue->released, 0);
	return queue;
}

/* A thread calls this before it takes the fast path of a queue. */
static void note_user(struct clv_queue *queue)
{
	const void *self = &clv_gate_thread, *before = atomic_load(&queue->user);

	if (before == self)
		return;
	if (before || !atomic_compare_exchange_strong(&queue->user, &before, self))
		atomic_store(&queue->has_several_users, 1);
}

struct clv_queue *clv_queue_find(const void *handle)
{
	struct clv_queue *queue = clv_queue_find_known(handle);

	if (CLV_UNLIKELY(!queue))
		queue = clv_queue_add(handle);
	if (CLV_UNLIKELY(!queue))
		return NULL;
	note_user(queue);
	if (clv_gate_thread.callback_depth == 0)
		clv_gate_thread.last_queue = queue;
	return queue;
}

struct clv_queue *clv_queue_add(const void *handle)
{
	struct clv_queue *queue;

	pthread_mutex_lock(&change_lock);
	queue = clv_queue_find_known(handle);
	if (!queue && make_room()) {
		queue = new_record(handle);
		if (queue) {
			atomic_fetch_add(&n_live, 1);
			insert(atomic_load(&current), queue);
		}
	}
	pthread_mutex_unlock(&change_lock);
	return queue;
}

struct clv_queue *clv_table_next(struct clv_table_walk *walk)
{
	if (!walk->table)
		walk->table = atomic_load_explicit(&current, memory_order_acquire);
	while (walk->table && walk->index < walk->table->size) {
		struct clv_queue *queue = atomic_load_explicit(
			&walk->table->entries[walk->index++], memory_order_acquire);

		if (queue && queue != TOMBSTONE)
			return queue;
	}
	return NULL;
}

uint32_t clv_table_n(void)
{
	return atomic_load(&n_live);
}

void clv_table_remove(struct clv_queue *queue)
{
	struct clv_table *table;

	pthread_mutex_lock(&change_lock);
	table = atomic_load(&current);
	for (uint32_t i = 0; i < table->size; i++) {
		if (atomic_load(&table->entries[i]) != queue)
			continue;
		atomic_store(&table->entries[i], TOMBSTONE);
		atomic_fetch_sub(&n_live, 1);
	}
	/* A thread's last queue may be this one.  NULL is the handle of a default queue
	 * that the thread has not found yet. */
	queue->handle = TOMBSTONE;
	pthread_mutex_unlock(&change_lock);
	clv_table_unuse(queue);
}

void clv_table_use(struct clv_queue *queue)
{
	atomic_fetch_add(&queue->n_uses, 1);
}

bool clv_table_try_use(struct clv_queue *queue)
{
	uint32_t n = atomic_load(&queue->n_uses);

	while (n > 0 && !atomic_compare_exchange_weak(&queue->n_uses, &n, n + 1))
		;
	return n > 0;
}

void clv_table_unuse(struct clv_queue *queue)
{
	uint32_t n = atomic_fetch_sub(&queue->n_uses, 1);

	assert(n > 0);
	if (n != 1)
		return;
	pthread_mutex_lock(&change_lock);
	queue->next_free = free_records;
	free_records = queue;
	pthread_mutex_unlock(&change_lock);
}

void clv_table_forget(void)
{
	clv_lock_init(&change_lock, PTHREAD_MUTEX_NORMAL);
	atomic_store(&current, NULL);
	atomic_store(&n_live, 0);
	free_records = NULL;
}
