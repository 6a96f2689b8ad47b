/* SPDX-License-Identifier: Apache-2.0 */
#include "helper.h"
#include "effect.h"
#include "process.h"
#include "queue.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t hosts_head;

struct waiting {
	struct host_task *task;
	uint32_t slot;
	bool is_turn; /* of a kernel, which keeps the task */
	uint64_t seq;
	struct waiting *next;
};

static struct waiting *values; /* the values that are polled */

static void tell_done(const struct waiting *w)
{
	struct dgp_slot *slot = &dgp_area->slots[w->slot];
	_Atomic uint64_t *counter = w->is_turn ? &slot->turns : &slot->host_done;

	atomic_store(&slot->told_ns, dgp_clock());
	/* A late report of a destroyed context must not lower the counter. */
	if (atomic_load(counter) < w->seq)
		atomic_store(counter, w->seq);
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

static void end_wait(struct waiting *w)
{
	if (w->is_turn)
		w->task->value++;
	else
		free(w->task);
	tell_done(w);
	free(w);
}

static void look_at_values(void)
{
	for (struct waiting **at = &values; *at;) {
		struct waiting *w = *at;

		if (!has_value(w->task)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		end_wait(w);
	}
}

/* --- Functions of the program --- */

static struct waiting *calls, **last_call = &calls;
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t calls_changed = PTHREAD_COND_INITIALIZER;

static void add_call(struct waiting *w)
{
	pthread_mutex_lock(&calls_lock);
	*last_call = w;
	last_call = &w->next;
	pthread_cond_signal(&calls_changed);
	pthread_mutex_unlock(&calls_lock);
}

static struct waiting *next_call(void)
{
	struct waiting *w;

	pthread_mutex_lock(&calls_lock);
	while (!calls)
		pthread_cond_wait(&calls_changed, &calls_lock);
	w = calls;
	calls = w->next;
	if (!calls)
		last_call = &calls;
	pthread_mutex_unlock(&calls_lock);
	return w;
}

static void *call(void *unused)
{
	for (;;) {
		struct waiting *w = next_call();

		w->task->call(w->task);
		end_wait(w);
	}
	return NULL;
}

/* --- Requests of the machine --- */

static void take_task(void)
{
	uint64_t at = hosts_head++ % DGP_EFFECTS;
	struct waiting *w = malloc(sizeof(*w));

	*w = (struct waiting){
		.task = (struct host_task *)(uintptr_t)dgp_area->hosts[at].what,
		.slot = dgp_area->hosts[at].slot,
		.is_turn = dgp_area->hosts[at].is_turn,
		.seq = dgp_area->hosts[at].seq};
	if (w->task->call) {
		add_call(w);
		return;
	}
	w->next = values;
	values = w;
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
		if (values)
			usleep(50);
		else
			dgp_sleep_on(&dgp_area->host_word, word);
	}
	return NULL;
}

static bool start_thread(void *(*run)(void *unused))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		return false;
	pthread_detach(thread);
	return true;
}

bool dgp_helper_start(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static _Atomic bool started;
	sigset_t all, before;

	if (started)
		return true;
	pthread_mutex_lock(&lock);
	if (!started) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		started = start_thread(call) && start_thread(help);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_mutex_unlock(&lock);
	return started;
}

/* --- Kernels that wait --- */

struct spinning {
	struct host_task task;
	char *out;
	uint32_t out_value;
};

static void end_turn(void *user)
{
	struct spinning *s = user;

	if (s->out)
		atomic_store((_Atomic uint32_t *)(void *)s->out, s->out_value++);
}

void dgp_spin_cmd(const struct dgp_spin *spin, struct dgp_cmd *cmd)
{
	struct spinning *s = calloc(1, sizeof(*s));
	struct effect *effect = dgp_effect_new();

	s->task = (struct host_task){
		.value_at = spin->at, .value = spin->value, .bytes = 4};
	s->out = spin->out;
	s->out_value = spin->out_value;
	effect->call = end_turn;
	effect->user = effect->owned = s;
	effect->again = spin->turns - 1;
	cmd->effect = (uint64_t)(uintptr_t)effect;
	cmd->value = (uint64_t)(uintptr_t)&s->task;
	cmd->turns = spin->turns;
}

bool dgp_watch_memory(void)
{
	bool watched = dgp_helper_start();

	if (watched)
		dgp_memory_is_watched = true;
	return watched;
}
