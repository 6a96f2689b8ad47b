/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of markers.  Mostly first in, first out, for the helper; a thread that knows
 * some of them to be complete removes them from the middle, which leaves holes. */
#include "gate/queue/markers.h"

#include "gate/process/lock.h"

#include <pthread.h>
#include <stdlib.h>

static struct clv_marker first_ring[CLV_MARKERS_MANY];
static struct {
	pthread_mutex_t lock;
	struct clv_marker *items;
	uint32_t size; /* a power of two */
	uint32_t head, tail;
	uint32_t n; /* without holes */
	_Atomic uint64_t serial;
} ring = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .items = first_ring, .size = CLV_MARKERS_MANY};

__attribute__((constructor)) static void begin(void)
{
	clv_lock_init(&ring.lock, PTHREAD_MUTEX_NORMAL);
}

static void use_items(struct clv_marker *items, uint32_t size)
{
	if (ring.items != first_ring)
		free(ring.items);
	ring.items = items;
	ring.size = size;
}

static struct clv_marker *at(uint32_t i)
{
	return &ring.items[i % ring.size];
}

/* Call this and make_room() and skip_holes() with the lock held. */
static void drop_holes(void)
{
	uint32_t to = ring.head;

	for (uint32_t i = ring.head; i != ring.tail; i++) {
		if (at(i)->queue)
			*at(to++) = *at(i);
	}
	ring.tail = to;
}

static bool make_room(void)
{
	uint32_t size = 2 * ring.size;
	struct clv_marker *items;

	if (ring.tail - ring.head < ring.size)
		return true;
	drop_holes();
	if (ring.tail - ring.head <= ring.size / 2)
		return true;
	items = calloc(size, sizeof(*items));
	if (!items)
		return ring.tail - ring.head < ring.size;
	for (uint32_t i = 0; i < ring.n; i++)
		items[i] = *at(ring.head + i);
	use_items(items, size);
	ring.head = 0;
	ring.tail = ring.n;
	return true;
}

bool clv_markers_push(const struct clv_marker *marker)
{
	bool room;

	pthread_mutex_lock(&ring.lock);
	room = make_room();
	if (room) {
		*at(ring.tail) = *marker;
		at(ring.tail++)->serial = atomic_fetch_add(&ring.serial, 1);
		ring.n++;
	}
	pthread_mutex_unlock(&ring.lock);
	return room;
}

bool clv_markers_put_first(const struct clv_marker *marker)
{
	bool room;

	pthread_mutex_lock(&ring.lock);
	room = make_room();
	if (room) {
		*at(--ring.head) = *marker;
		ring.n++;
	}
	pthread_mutex_unlock(&ring.lock);
	return room;
}

static void skip_holes(void)
{
	while (ring.head != ring.tail && !at(ring.head)->queue)
		ring.head++;
}

bool clv_marker_pop(struct clv_marker *ret)
{
	bool any;

	pthread_mutex_lock(&ring.lock);
	skip_holes();
	any = ring.head != ring.tail;
	if (any) {
		*ret = *at(ring.head++);
		ring.n--;
	}
	pthread_mutex_unlock(&ring.lock);
	return any;
}

size_t clv_markers_take(
	const struct clv_marker_filter *filter, struct clv_marker *ret, size_t most)
{
	size_t n = 0;

	pthread_mutex_lock(&ring.lock);
	for (uint32_t i = ring.head; i != ring.tail && n < most; i++) {
		struct clv_marker *marker = at(i);

		if (!marker->queue || marker->serial >= filter->before ||
			(filter->queue && marker->queue != filter->queue) ||
			(filter->context && marker->queue->context != filter->context))
			continue;
		ret[n++] = *marker;
		marker->queue = NULL;
		ring.n--;
	}
	skip_holes();
	pthread_mutex_unlock(&ring.lock);
	return n;
}

uint64_t clv_markers_serial(void)
{
	return atomic_load(&ring.serial);
}

uint32_t clv_markers_n(void)
{
	uint32_t n;

	pthread_mutex_lock(&ring.lock);
	n = ring.n;
	pthread_mutex_unlock(&ring.lock);
	return n;
}

void clv_markers_forget(void)
{
	clv_lock_init(&ring.lock, PTHREAD_MUTEX_NORMAL);
	/* A thread of the parent may have been changing the ring. */
	ring.items = first_ring;
	ring.size = CLV_MARKERS_MANY;
	ring.head = ring.tail = ring.n = 0;
}
