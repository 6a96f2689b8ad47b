/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Waiting for signals: in the caller's thread, or in the runtime's own thread, which
 * calls a function when a signal has its value. */

bool dhs_compares(int64_t value, int condition, int64_t with)
{
	switch (condition) {
	case HSA_EQ:
		return value == with;
	case HSA_NE:
		return value != with;
	case HSA_LT:
		return value < with;
	}
	return value >= with;
}

/* As the runtime behaves when the kernel reports that a GPU is gone. */
static bool is_over(void)
{
	if (dgp_machine_lives())
		return false;
	fputs("HW Exception by GPU node-1, reason: GPU Hang\n", stderr);
	abort();
}

/* --- Making the machine check in time --- */

static struct dgp_waiter *take_waiter(void)
{
	for (uint32_t i = 0; i < DGP_WAITERS - 64; i++) {
		struct dgp_waiter *w = &dgp_area->waiters[i];
		uint32_t n = atomic_load(&dgp_area->n_waiters);

		if (atomic_exchange(&w->taken, 1))
			continue;
		while (n <= i &&
			!atomic_compare_exchange_weak(&dgp_area->n_waiters, &n, i + 1))
			;
		return w;
	}
	return NULL;
}

void dhs_watch_begin(struct watch *watch, uint32_t signal)
{
	struct dgp_signal_note *note = &dgp_area->notes[signal];
	uint64_t seq = atomic_load(&note->seq);
	uint32_t slot = atomic_load(&note->slot);

	*watch = (struct watch){NULL, false};
	if (seq && atomic_load(&dgp_area->slots[slot].done) < seq)
		watch->waiter = take_waiter();
	if (watch->waiter) {
		atomic_store(&watch->waiter->slot, slot);
		atomic_store(&watch->waiter->seq, seq);
		atomic_store(&watch->waiter->asleep, 1);
	} else {
		watch->exact = true;
		atomic_fetch_add(&dgp_area->exact, 1);
	}
	dgp_ring();
}

void dhs_watch_end(struct watch *watch)
{
	if (watch->exact)
		atomic_fetch_sub(&dgp_area->exact, 1);
	if (watch->waiter) {
		atomic_store(&watch->waiter->asleep, 0);
		atomic_store(&watch->waiter->taken, 0);
	}
	*watch = (struct watch){NULL, false};
}

/* --- One signal --- */

static void sleep_once(uint32_t number, uint32_t word, uint64_t until_ns)
{
	struct dgp_signal_note *note = &dgp_area->notes[number];
	uint64_t now = dgp_clock();
	struct watch watch;

	dhs_watch_begin(&watch, number);
	atomic_fetch_add(&note->sleepers, 1);
	if (until_ns > now)
		dgp_sleep_for(&note->word, word, until_ns - now);
	atomic_fetch_sub(&note->sleepers, 1);
	dhs_watch_end(&watch);
}

static uint64_t end_of(uint64_t timeout)
{
	uint64_t now = dgp_clock();

	return timeout > UINT64_MAX - now ? UINT64_MAX : now + timeout;
}

static int64_t wait_for(hsa_signal handle, int condition, int64_t with, uint64_t timeout)
{
	uint32_t number = dhs_signal_number(handle), word;
	uint64_t until = end_of(timeout);
	int64_t value;

	if (number == NO_SIGNAL)
		return 0;
	for (;;) {
		word = atomic_load(&dgp_area->notes[number].word);
		value = atomic_load(&dhs_signal_at(number)->value);
		if (dhs_compares(value, condition, with) || dgp_clock() >= until ||
			is_over())
			break;
		sleep_once(number, word, until);
	}
	dgp_effects_apply();
	return value;
}

#define WAIT(order)                                                                      \
	int64_t hsa_signal_wait_##order(hsa_signal signal, int condition, int64_t value, \
		uint64_t timeout, int state)                                             \
	{                                                                                \
		return wait_for(signal, condition, value, timeout);                      \
	}
WAIT(relaxed)
WAIT(acquire)
WAIT(scacquire)

/* --- Any of several signals --- */

static uint32_t first_met(
	uint32_t n, hsa_signal *signals, int *conditions, int64_t *values, int64_t *ret)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t number = dhs_signal_number(signals[i]);
		int64_t value;

		if (number == NO_SIGNAL)
			continue;
		value = atomic_load(&dhs_signal_at(number)->value);
		if (!dhs_compares(value, conditions[i], values[i]))
			continue;
		if (ret)
			*ret = value;
		return i;
	}
	return UINT32_MAX;
}

static void listen_to(uint32_t number, int change)
{
	atomic_fetch_add(&dgp_area->notes[number].listeners, (uint32_t)change);
}

static void listen_to_all(uint32_t n, const hsa_signal *signals, int change)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t number = dhs_signal_number(signals[i]);

		if (number != NO_SIGNAL)
			listen_to(number, change);
	}
	atomic_fetch_add(&dgp_area->exact, change);
	dgp_ring();
}

uint32_t hsa_amd_signal_wait_any(uint32_t n, hsa_signal *signals, int *conditions,
	int64_t *values, uint64_t timeout, int state, int64_t *ret)
{
	uint64_t until = end_of(timeout);
	uint32_t found;

	listen_to_all(n, signals, 1);
	for (;;) {
		uint32_t word = atomic_load(&dgp_area->host_word);
		uint64_t now = dgp_clock();

		found = first_met(n, signals, conditions, values, ret);
		if (found != UINT32_MAX || now >= until || is_over())
			break;
		dgp_sleep_for(&dgp_area->host_word, word, until - now);
	}
	listen_to_all(n, signals, -1);
	dgp_effects_apply();
	return found;
}

/* --- The runtime's thread --- */

struct handler {
	uint32_t signal; /* NO_SIGNAL: immediately */
	int condition;
	int64_t with, value;
	hsa_signal_fn fn;
	hsa_fn plain;
	void *user;
	struct watch watch;
	struct handler *next;
};

static struct handler *handlers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_due(struct handler *h)
{
	if (h->signal == NO_SIGNAL)
		return true;
	h->value = atomic_load(&dhs_signal_at(h->signal)->value);
	if (dhs_compares(h->value, h->condition, h->with))
		return true;
	/* The watch ended before the condition was met: start a new one. */
	if (h->watch.waiter && !atomic_load(&h->watch.waiter->asleep)) {
		dhs_watch_end(&h->watch);
		dhs_watch_begin(&h->watch, h->signal);
	}
	return false;
}

static struct handler *take_due(void)
{
	struct handler *found = NULL;

	pthread_mutex_lock(&lock);
	for (struct handler **at = &handlers; *at && !found; at = &(*at)->next) {
		if (!is_due(*at))
			continue;
		found = *at;
		*at = found->next;
		break;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static void add(struct handler *h)
{
	struct handler **last = &handlers;

	if (h->signal != NO_SIGNAL) {
		listen_to(h->signal, 1);
		dhs_watch_begin(&h->watch, h->signal);
	}
	pthread_mutex_lock(&lock);
	while (*last)
		last = &(*last)->next;
	*last = h;
	h->next = NULL;
	pthread_mutex_unlock(&lock);
	atomic_fetch_add(&dgp_area->host_word, 1);
	dgp_wake_word(&dgp_area->host_word);
}

static void call(struct handler *h)
{
	bool again = false;

	if (h->signal != NO_SIGNAL) {
		dhs_watch_end(&h->watch);
		listen_to(h->signal, -1);
	}
	if (h->plain)
		h->plain(h->user);
	else
		again = h->fn(h->value, h->user);
	if (again)
		add(h);
	else
		free(h);
}

static void *run(void *unused)
{
	for (;;) {
		uint32_t word = atomic_load(&dgp_area->host_word);
		struct handler *h;

		dgp_effects_apply();
		while ((h = take_due())) {
			dgp_effects_apply();
			call(h);
		}
		dgp_sleep_on(&dgp_area->host_word, word);
		is_over();
	}
	return NULL;
}

static bool start_thread(void)
{
	static _Atomic bool started;
	sigset_t all, before;
	pthread_t thread;

	if (started)
		return true;
	pthread_mutex_lock(&lock);
	if (!started) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		started = pthread_create(&thread, NULL, run, NULL) == 0;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		if (started)
			pthread_detach(thread);
	}
	pthread_mutex_unlock(&lock);
	return started;
}

static int add_handler(const struct handler *wanted)
{
	struct handler *h;

	if (!start_thread())
		return HSA_OUT_OF_RESOURCES;
	h = malloc(sizeof(*h));
	*h = *wanted;
	add(h);
	return 0;
}

int dhs_hsa_amd_signal_async_handler(
	hsa_signal handle, int condition, int64_t value, hsa_signal_fn fn, void *user)
{
	uint32_t number = dhs_signal_number(handle);

	if (!fn)
		return HSA_INVALID_ARGUMENT;
	if (number == NO_SIGNAL)
		return HSA_INVALID_SIGNAL;
	return add_handler(&(struct handler){.signal = number,
		.condition = condition,
		.with = value,
		.fn = fn,
		.user = user});
}

int dhs_hsa_amd_async_function(hsa_fn fn, void *user)
{
	if (!fn)
		return HSA_INVALID_ARGUMENT;
	return add_handler(
		&(struct handler){.signal = NO_SIGNAL, .plain = fn, .user = user});
}
