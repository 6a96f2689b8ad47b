/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

/* Signals are words in the area, which the machine sees too. A doorbell is not a word: a
 * store to it makes the machine read the queue. */

#define KIND_USER 1
#define KIND_DOORBELL (-1)

static uint32_t unused[DGP_SIGNALS], n_unused, n_ever;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t take_number(void)
{
	uint32_t number = NO_SIGNAL;

	pthread_mutex_lock(&lock);
	if (n_unused)
		number = unused[--n_unused];
	else if (n_ever < DGP_SIGNALS)
		number = n_ever++;
	pthread_mutex_unlock(&lock);
	return number;
}

struct dgp_signal *dhs_signal_at(uint32_t number)
{
	return &dgp_area->signals[number];
}

uint32_t dhs_signal_number(hsa_signal handle)
{
	uintptr_t first = (uintptr_t)dgp_area->signals;
	uint64_t number = (handle - first) / sizeof(struct dgp_signal);

	if (handle < first || number >= DGP_SIGNALS || handle % sizeof(struct dgp_signal))
		return NO_SIGNAL;
	return dgp_area->signals[number].kind ? (uint32_t)number : NO_SIGNAL;
}

hsa_signal dhs_signal_new(int64_t value)
{
	uint32_t number = take_number();
	struct dgp_signal *signal = dhs_signal_at(number % DGP_SIGNALS);

	if (number == NO_SIGNAL)
		return 0;
	dgp_area->notes[number].seq = 0;
	dgp_area->notes[number].awaited = 0;
	signal->start_ns = signal->end_ns = signal->queue = 0;
	signal->value = value;
	signal->kind = KIND_USER;
	return dhs_handle(signal);
}

int dhs_hsa_amd_signal_create(int64_t value, uint32_t n, const hsa_agent *consumers,
	uint64_t attributes, hsa_signal *ret)
{
	if (!ret || (n && !consumers))
		return HSA_INVALID_ARGUMENT;
	*ret = dhs_signal_new(value);
	return *ret ? 0 : HSA_OUT_OF_RESOURCES;
}

int dhs_hsa_signal_create(
	int64_t value, uint32_t n, const hsa_agent *consumers, hsa_signal *ret)
{
	return dhs_hsa_amd_signal_create(value, n, consumers, 0, ret);
}

int dhs_hsa_signal_destroy(hsa_signal handle)
{
	uint32_t number = dhs_signal_number(handle);

	if (!handle)
		return HSA_INVALID_ARGUMENT;
	if (number == NO_SIGNAL)
		return HSA_INVALID_SIGNAL;
	pthread_mutex_lock(&lock);
	dhs_signal_at(number)->kind = 0;
	unused[n_unused++] = number;
	pthread_mutex_unlock(&lock);
	return 0;
}

int dhs_hsa_amd_signal_value_pointer(hsa_signal handle, volatile int64_t **ret)
{
	uint32_t number = dhs_signal_number(handle);

	if (number == NO_SIGNAL || !ret)
		return HSA_INVALID_ARGUMENT;
	*ret = (volatile int64_t *)&dhs_signal_at(number)->value;
	return 0;
}

void dhs_signal_promise(uint32_t number, int slot, uint64_t seq)
{
	atomic_store(&dgp_area->notes[number].slot, (uint32_t)slot);
	atomic_store(&dgp_area->notes[number].seq, seq);
}

/* --- Values --- */

/* Wakes the threads that wait for the changed value. */
static void changed(uint32_t number)
{
	struct dgp_signal_note *note = &dgp_area->notes[number];

	atomic_fetch_add(&note->word, 1);
	if (atomic_load(&note->sleepers))
		dgp_wake_word(&note->word);
	if (atomic_load(&note->listeners)) {
		atomic_fetch_add(&dgp_area->host_word, 1);
		dgp_wake_word(&dgp_area->host_word);
	}
	if (atomic_exchange(&note->awaited, 0))
		dgp_ring();
}

static int64_t load(hsa_signal handle)
{
	uint32_t number = dhs_signal_number(handle);
	struct dgp_signal_note *note;
	int64_t value;

	if (number == NO_SIGNAL)
		return 0;
	note = &dgp_area->notes[number];
	value = atomic_load(&dhs_signal_at(number)->value);
	if (value > 0 && atomic_load(&note->seq)) {
		dgp_is_done((int)atomic_load(&note->slot), atomic_load(&note->seq));
		value = atomic_load(&dhs_signal_at(number)->value);
	}
	dgp_effects_apply();
	return value;
}

static void store(hsa_signal handle, int64_t value, bool is_silent)
{
	uint32_t number = dhs_signal_number(handle);
	struct dgp_signal *signal;

	if (number == NO_SIGNAL)
		return;
	signal = dhs_signal_at(number);
	if (signal->kind == KIND_DOORBELL) {
		dhs_queue_process((struct queue *)(uintptr_t)signal->queue, value);
		return;
	}
	atomic_store(&signal->value, value);
	/* A silent store does not wake threads; the GPU polls. */
	if (!is_silent)
		changed(number);
	else if (atomic_exchange(&dgp_area->notes[number].awaited, 0))
		dgp_ring();
}

#define LOAD(order)                                        \
	int64_t hsa_signal_load_##order(hsa_signal signal) \
	{                                                  \
		return load(signal);                       \
	}
LOAD(relaxed)
LOAD(acquire)
LOAD(scacquire)

#define STORE(order)                                                    \
	void hsa_signal_store_##order(hsa_signal signal, int64_t value) \
	{                                                               \
		store(signal, value, false);                            \
	}
STORE(relaxed)
STORE(release)
STORE(screlease)

void hsa_signal_silent_store_relaxed(hsa_signal signal, int64_t value)
{
	store(signal, value, true);
}

#define ORDERS(X, ...)            \
	X(__VA_ARGS__, relaxed)   \
	X(__VA_ARGS__, acquire)   \
	X(__VA_ARGS__, release)   \
	X(__VA_ARGS__, acq_rel)   \
	X(__VA_ARGS__, scacquire) \
	X(__VA_ARGS__, screlease) \
	X(__VA_ARGS__, scacq_screl)

#define CHANGE(name, operation, order)                                     \
	void hsa_signal_##name##_##order(hsa_signal signal, int64_t value) \
	{                                                                  \
		uint32_t number = dhs_signal_number(signal);               \
                                                                           \
		if (number == NO_SIGNAL)                                   \
			return;                                            \
		operation(&dhs_signal_at(number)->value, value);           \
		changed(number);                                           \
	}
ORDERS(CHANGE, add, atomic_fetch_add)
ORDERS(CHANGE, subtract, atomic_fetch_sub)
ORDERS(CHANGE, and, atomic_fetch_and)
ORDERS(CHANGE, or, atomic_fetch_or)
ORDERS(CHANGE, xor, atomic_fetch_xor)

static int64_t exchange(hsa_signal signal, int64_t value)
{
	uint32_t number = dhs_signal_number(signal);
	int64_t before;

	if (number == NO_SIGNAL)
		return 0;
	before = atomic_exchange(&dhs_signal_at(number)->value, value);
	changed(number);
	return before;
}

static int64_t compare_and_swap(hsa_signal signal, int64_t expected, int64_t value)
{
	uint32_t number = dhs_signal_number(signal);

	if (number == NO_SIGNAL)
		return 0;
	if (atomic_compare_exchange_strong(
		    &dhs_signal_at(number)->value, &expected, value))
		changed(number);
	return expected;
}

#define EXCHANGE(name, order)                                                 \
	int64_t hsa_signal_##name##_##order(hsa_signal signal, int64_t value) \
	{                                                                     \
		return exchange(signal, value);                               \
	}
#define CAS(name, order)                                            \
	int64_t hsa_signal_##name##_##order(                        \
		hsa_signal signal, int64_t expected, int64_t value) \
	{                                                           \
		return compare_and_swap(signal, expected, value);   \
	}
ORDERS(EXCHANGE, exchange)
ORDERS(CAS, cas)
