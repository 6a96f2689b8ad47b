/* SPDX-License-Identifier: Apache-2.0 */
/* Charges, and those that hang on an address or another number of the vendor's. */
#include "gate/charges.h"

#include "gate/gate.h"

#include <stdlib.h>

#define N_BUCKETS 1024

struct charge_record {
	struct charge_record *next;
	const void *address;
	const void *owner;
	uint64_t n_bytes;
	uint32_t epoch;
};

static pthread_mutex_t address_lock = PTHREAD_MUTEX_INITIALIZER;
static struct charge_record *buckets[N_BUCKETS];

struct clv_charge clv_charge_take(uint64_t n_bytes)
{
	struct clv_charge charge = {.n_bytes = n_bytes};
	bool refused;
	/* A child that goes on with its parent's context attaches here. */
	struct clv_view *view = clv_gate_view(&refused);

	charge.epoch = clv_ledger_epoch();
	charge.charged = view && clv_ledger_charge(n_bytes);
	charge.refused = refused || (view && !charge.charged);
	return charge;
}

void clv_charge_undo(const struct clv_charge *charge)
{
	if (charge->charged)
		clv_ledger_release(charge->n_bytes, charge->epoch);
}

static struct charge_record **bucket_of(const void *address)
{
	return &buckets[((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

void clv_charge_pointer(const struct clv_charge *charge, const void *address)
{
	struct charge_record *record;

	if (!charge->charged)
		return;
	record = malloc(sizeof(*record));
	if (!record)
		return;
	*record = (struct charge_record){
		.address = address,
		.owner = charge->owner,
		.n_bytes = charge->n_bytes,
		.epoch = charge->epoch,
	};
	pthread_mutex_lock(&address_lock);
	record->next = *bucket_of(address);
	*bucket_of(address) = record;
	pthread_mutex_unlock(&address_lock);
}

struct clv_charge clv_charge_withdraw(const void *address)
{
	struct charge_record **link, *found = NULL;
	struct clv_charge charge = {0};

	pthread_mutex_lock(&address_lock);
	for (link = bucket_of(address); *link; link = &(*link)->next) {
		if ((*link)->address == address) {
			found = *link;
			*link = found->next;
			break;
		}
	}
	pthread_mutex_unlock(&address_lock);
	if (!found)
		return charge;
	charge = (struct clv_charge){
		.n_bytes = found->n_bytes,
		.epoch = found->epoch,
		.charged = true,
		.owner = found->owner,
	};
	free(found);
	return charge;
}

void clv_release_pointer(const void *address)
{
	struct clv_charge charge = clv_charge_withdraw(address);

	clv_charge_undo(&charge);
}

static struct charge_record *take_of_owner(struct charge_record **link, const void *owner)
{
	for (; *link; link = &(*link)->next) {
		struct charge_record *record = *link;

		if (record->owner == owner) {
			*link = record->next;
			return record;
		}
	}
	return NULL;
}

void clv_charges_drop(const void *owner)
{
	pthread_mutex_lock(&address_lock);
	for (size_t i = 0; i < N_BUCKETS; i++) {
		struct charge_record *record;

		while ((record = take_of_owner(&buckets[i], owner))) {
			clv_ledger_release(record->n_bytes, record->epoch);
			free(record);
		}
	}
	pthread_mutex_unlock(&address_lock);
}

void clv_charges_forget_parent(void)
{
	pthread_mutex_init(&address_lock, NULL);
}
