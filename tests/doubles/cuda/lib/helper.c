/* SPDX-License-Identifier: Apache-2.0 */
#include "helper.h"
#include "../../gpu/client/effect.h"
#include "process.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t hosts_head;

/* Streams that wait for a value. */
static struct waiting {
	struct host_task *task;
	uint32_t slot;
	uint64_t seq;
	struct waiting *next;
} * waits;

static void tell_done(uint32_t slot, uint64_t seq)
{
	atomic_store(&dgp_area->slots[slot].host_done, seq);
	dgp_ring();
}

static bool has_value(const struct host_task *task)
{
	uint64_t now = 0, want = task->value;

	memcpy(&now, task->value_at, task->bytes);
	switch (task->how & 3) {
	case 0: /* reached, cyclically */
		return task->bytes == 4 ? (int32_t)((uint32_t)now - (uint32_t)want) >= 0
					: (int64_t)(now - want) >= 0;
	case 1:
		return now == want;
	case 2:
		return now & want;
	}
	return (task->bytes == 4 ? (uint32_t) ~(now | want) : ~(now | want)) != 0;
}

static void look_at_values(void)
{
	for (struct waiting **at = &waits; *at;) {
		struct waiting *w = *at;

		if (!has_value(w->task)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		tell_done(w->slot, w->seq);
		free(w->task);
		free(w);
	}
}

static void take_task(void)
{
	uint64_t at = hosts_head % DGP_EFFECTS;
	struct host_task *task = (struct host_task *)(uintptr_t)dgp_area->hosts[at].what;
	uint32_t slot = dgp_area->hosts[at].slot;
	uint64_t seq = dgp_area->hosts[at].seq;

	hosts_head++;
	if (task->call) {
		task->call(task);
		free(task);
		tell_done(slot, seq);
		return;
	}
	struct waiting *w = malloc(sizeof(*w));

	*w = (struct waiting){task, slot, seq, waits};
	waits = w;
}

static void *help(void *unused)
{
	for (;;) {
		uint32_t word = atomic_load(&dgp_area->host_word);

		dgp_effects_apply();
		while (atomic_load(&dgp_area->hosts_tail) > hosts_head) {
			dgp_effects_apply();
			take_task();
		}
		look_at_values();
		if (waits)
			usleep(50);
		else
			dgp_sleep_on(&dgp_area->host_word, word);
	}
	return NULL;
}

bool dcu_helper_start(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static _Atomic bool started;
	sigset_t all, before;
	pthread_t thread;

	if (started)
		return true;
	pthread_mutex_lock(&lock);
	if (!started) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		started = pthread_create(&thread, NULL, help, NULL) == 0;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		if (started)
			pthread_detach(thread);
	}
	pthread_mutex_unlock(&lock);
	return started;
}
