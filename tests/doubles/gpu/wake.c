/* SPDX-License-Identifier: Apache-2.0 */
#include "time.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Wakes the threads that sleep on the machine, and none too early: while no thread waits
 * for a command's end, the machine checks only now and then. */

#define LOOK_NS 1000000

void dgp_wake_word(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* How long the slot's commands up to seq take if no other work competes. */
static uint64_t least_ns(const struct stream *s, uint64_t seq)
{
	uint64_t done = atomic_load(&s->slot->done);
	const struct dgp_cmd *first = &s->slot->ring[done % DGP_RING];
	const struct dgp_cmd *last = &s->slot->ring[(seq - 1) % DGP_RING];
	uint64_t left = s->ready ? dgp_least_left(s) : first->ns;

	if (seq <= done || seq > atomic_load(&s->slot->tail))
		return 0;
	return last->sum_ns - first->sum_ns + left;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Wakes a thread whose command is complete; otherwise returns when that can be at the
 * earliest. */
static uint64_t serve(
	const struct machine *m, struct process *p, struct dgp_waiter *w, uint64_t next)
{
	uint32_t slot;
	uint64_t seq;

	/* Read first: a thread writes what it waits for before `asleep`; without `asleep`
	 * the values may be another thread's. */
	if (!atomic_load(&w->asleep))
		return DGP_NEVER;
	slot = atomic_load(&w->slot) % DGP_SLOTS;
	seq = atomic_load(&w->seq);
	if (atomic_load(&p->area->slots[slot].done) < seq)
		return later(m->now_ns + least_ns(&p->streams[slot], seq), next);
	atomic_store(&w->asleep, 0);
	dgp_wake_word(&w->asleep);
	return DGP_NEVER;
}

static uint64_t wake_process(const struct machine *m, struct process *p, uint64_t next)
{
	uint32_t n = atomic_load(&p->area->n_waiters);
	uint64_t when = DGP_NEVER, tail = atomic_load(&p->area->host_word);

	atomic_store(&p->area->quiet_until, next);
	for (uint32_t i = 0; i < n && i < DGP_WAITERS; i++)
		when = earlier(when, serve(m, p, &p->area->waiters[i], next));
	if (atomic_load(&p->area->exact) > 0)
		when = earlier(when, next);
	if ((uint32_t)tail != p->host_word_seen) {
		p->host_word_seen = (uint32_t)tail;
		dgp_wake_word(&p->area->host_word);
	}
	return when;
}

uint64_t dgp_wake(struct machine *m)
{
	uint64_t next = dgp_next_event(m), when = DGP_NEVER;

	if (m->n_active && next != DGP_NEVER)
		when = later(next, m->now_ns + LOOK_NS);
	for (struct process *p = m->processes; p; p = p->next)
		if (p->area)
			when = earlier(when, wake_process(m, p, next));
	return when;
}
