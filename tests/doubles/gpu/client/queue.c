/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"
#include "effect.h"
#include "process.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Work goes into the ring of a slot; the machine is woken only if the slot was empty, so
 * that a launch to a busy stream costs a few stores. */

static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t push_locks[DGP_SLOTS];
static bool closing[DGP_SLOTS];
_Atomic bool dgp_memory_is_watched;

static bool is_free(const struct dgp_slot *slot, bool is_closing)
{
	if (!atomic_load(&slot->context))
		return true;
	return is_closing && atomic_load(&slot->done) == atomic_load(&slot->tail);
}

int dgp_slot_open(uint32_t context, uint32_t flags, int priority)
{
	int found = -1;

	pthread_mutex_lock(&slots_lock);
	for (int i = 0; i < DGP_SLOTS && found < 0; i++)
		if (is_free(&dgp_area->slots[i], closing[i]))
			found = i;
	if (found >= 0) {
		struct dgp_slot *slot = &dgp_area->slots[found];

		if (!closing[found])
			pthread_mutex_init(&push_locks[found], NULL);
		closing[found] = false;
		slot->flags = flags;
		slot->priority = priority;
		slot->permille = 0;
		slot->dead = 0;
		slot->context = context;
		if (dgp_area->n_slots <= (uint32_t)found)
			dgp_area->n_slots = (uint32_t)found + 1;
	}
	pthread_mutex_unlock(&slots_lock);
	return found;
}

void dgp_slot_close(int slot)
{
	pthread_mutex_lock(&slots_lock);
	closing[slot] = true;
	pthread_mutex_unlock(&slots_lock);
}

uint64_t dgp_slot_tail(int slot)
{
	return atomic_load(&dgp_area->slots[slot].tail);
}

uint16_t dgp_name(const char *name)
{
	static uint16_t n = 1;
	uint16_t found = 0;

	pthread_mutex_lock(&slots_lock);
	for (uint16_t i = 1; i < n && !found; i++)
		if (strncmp(dgp_area->names[i], name, DGP_NAME_BYTES - 1) == 0)
			found = i;
	if (!found && n < DGP_NAMES) {
		snprintf(dgp_area->names[n], DGP_NAME_BYTES, "%s", name);
		found = n++;
	}
	pthread_mutex_unlock(&slots_lock);
	return found;
}

/* --- Waiting --- */

static struct dgp_waiter *take_waiter(void)
{
	for (;;) {
		for (uint32_t i = 0; i < DGP_WAITERS; i++) {
			struct dgp_waiter *w = &dgp_area->waiters[i];
			uint32_t n;

			if (atomic_exchange(&w->taken, 1))
				continue;
			n = atomic_load(&dgp_area->n_waiters);
			while (n <= i && !atomic_compare_exchange_weak(
						 &dgp_area->n_waiters, &n, i + 1))
				;
			return w;
		}
		sched_yield();
	}
}

/* Sleeps until the slot has completed seq; seq 0 completes when the machine next
 * reads. */
static int sleep_until(int slot, uint64_t seq)
{
	struct dgp_waiter *w = take_waiter();
	int r = 0;

	atomic_store(&w->slot, (uint32_t)slot);
	atomic_store(&w->seq, seq);
	atomic_store(&w->asleep, 1);
	dgp_ring();
	while (!r && atomic_load(&w->asleep)) {
		dgp_sleep_on(&w->asleep, 1);
		if (atomic_load(&w->asleep) && !dgp_machine_lives())
			r = DGP_UNKNOWN;
	}
	atomic_store(&w->asleep, 0);
	atomic_store(&w->taken, 0);
	return r;
}

int dgp_await(int slot, uint64_t seq)
{
	int r = 0;

	if (atomic_load(&dgp_area->slots[slot].done) < seq)
		r = sleep_until(slot, seq);
	dgp_effects_apply();
	return r;
}

bool dgp_is_done(int slot, uint64_t seq)
{
	const struct dgp_slot *s = &dgp_area->slots[slot];

	if (atomic_load(&s->done) < seq &&
		dgp_clock() >= atomic_load(&dgp_area->quiet_until))
		sleep_until(slot, 0);
	if (atomic_load(&s->done) < seq)
		return false;
	dgp_effects_apply();
	return true;
}

/* --- Submitting --- */

static pthread_mutex_t *lock_of(int slot, struct order *order, uint32_t flags)
{
	if (flags & (DGP_SLOT_LEGACY | DGP_SLOT_BLOCKING))
		return &order->lock;
	return &push_locks[slot];
}

static void put(struct dgp_slot *slot, struct order *order, uint32_t flags,
	struct dgp_cmd *cmd, uint64_t tail)
{
	uint64_t before = tail ? slot->ring[(tail - 1) % DGP_RING].sum_ns : 0;

	if (flags) {
		cmd->order = ++order->last;
		cmd->after = flags & DGP_SLOT_BLOCKING ? order->last_legacy : 0;
		if (flags & DGP_SLOT_LEGACY)
			order->last_legacy = cmd->order;
	}
	cmd->sum_ns = before + cmd->ns;
	cmd->submit_ns = dgp_clock();
	if (cmd->effect && dgp_memory_is_watched)
		cmd->waits_for_host = 1;
	slot->ring[tail % DGP_RING] = *cmd;
	if (cmd->waits_for_host)
		atomic_fetch_add(&dgp_area->exact, 1);
	atomic_store(&slot->tail, tail + 1);
	/* Otherwise the machine sees this command when it has completed the one before.
	 * Not a flag that the machine sets and this thread clears: where the machine
	 * completes the command first, the flag would stay cleared for the next one. */
	if (atomic_load(&slot->done) == tail) {
		if (dgp_hello.ring_us)
			usleep(dgp_hello.ring_us);
		atomic_store(&dgp_area->quiet_until, 0);
		dgp_ring();
	}
}

int dgp_push(int number, struct order *order, struct dgp_cmd *cmd, uint64_t *ret_seq)
{
	struct dgp_slot *slot = &dgp_area->slots[number];
	uint32_t flags = atomic_load_explicit(&slot->flags, memory_order_relaxed);
	pthread_mutex_t *lock = lock_of(number, order, flags);
	uint64_t tail;
	int r = 0;

	pthread_mutex_lock(lock);
	while (tail = atomic_load(&slot->tail),
		tail - atomic_load(&slot->done) >= DGP_RING) {
		pthread_mutex_unlock(lock);
		/* Waits for a quarter of the ring: waking a thread costs more than a
		 * launch. */
		r = dgp_await(number, tail - DGP_RING + DGP_RING / 4);
		if (r)
			return r;
		pthread_mutex_lock(lock);
	}
	put(slot, order, flags, cmd, tail);
	pthread_mutex_unlock(lock);
	if (ret_seq)
		*ret_seq = tail + 1;
	dgp_effects_trim();
	return 0;
}
