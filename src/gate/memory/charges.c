/* SPDX-License-Identifier: Apache-2.0 */
/* Charges, and the table of those that are identified by an address or another number of
 * the vendor's. */
#include "gate/memory/charges.h"

#include "gate/attach/attachment.h"
#include "gate/memory/ledger.h"
#include "gate/process/view.h"

#include <assert.h>
#include <stdlib.h>

#define N_BUCKETS 1024

struct charge_record {
	struct charge_record *next;
	const void *address;
	const void *owner;
	uint64_t n_bytes;
	uint32_t epoch;
	bool spilled, stands_in;
};

static pthread_mutex_t address_lock = PTHREAD_MUTEX_INITIALIZER;
static struct charge_record *buckets[N_BUCKETS];

struct clv_charge clv_charge_try(uint64_t n_bytes)
{
	struct clv_charge charge = {.n_bytes = n_bytes};
	bool refused;
	/* A child that continues to use its parent's context attaches here.  One that
	 * shares this memory (CLONE_VM) is charged to the process that is attached, and
	 * takes its place in the lease when that ends. */
	struct clv_view *view = clv_gate_view(&refused);

	charge.epoch = clv_ledger_epoch();
	charge.charged = view && clv_ledger_charge(n_bytes);
	charge.refused = refused || (view && !charge.charged);
	return charge;
}

struct clv_charge clv_charge_take(uint64_t n_bytes)
{
	struct clv_charge charge = clv_charge_try(n_bytes);

	if (charge.refused)
		clv_ledger_count_refusal();
	return charge;
}

bool clv_charge_spill(struct clv_charge *charge)
{
	if (!charge->refused || !clv_ledger_spill(charge->n_bytes))
		return false;
	charge->charged = charge->spilled = true;
	charge->refused = false;
	return true;
}

static void give_back(uint64_t n_bytes, uint32_t epoch, bool spilled)
{
	if (spilled)
		clv_ledger_unspill(n_bytes, epoch);
	else
		clv_ledger_release(n_bytes, epoch);
}

void clv_charge_undo(const struct clv_charge *charge)
{
	assert(!(charge->charged && charge->refused));
	if (charge->charged)
		give_back(charge->n_bytes, charge->epoch, charge->spilled);
}

static struct charge_record **bucket_of(const void *address)
{
	return &buckets[((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

void clv_charge_pointer(const struct clv_charge *charge, const void *address)
{
	struct charge_record *record;

	assert(!(charge->charged && charge->refused));
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
		.spilled = charge->spilled,
		.stands_in = charge->stands_in,
	};
	pthread_mutex_lock(&address_lock);
	record->next = *bucket_of(address);
	*bucket_of(address) = record;
	pthread_mutex_unlock(&address_lock);
}

/* Frees the record, which is in no list any more. */
static struct clv_charge charge_of(struct charge_record *found)
{
	struct clv_charge charge = {
		.n_bytes = found->n_bytes,
		.epoch = found->epoch,
		.charged = true,
		.spilled = found->spilled,
		.stands_in = found->stands_in,
		.owner = found->owner,
	};

	free(found);
	return charge;
}

static struct clv_charge withdraw(
	const void *address, const void *owner, bool is_anybodys)
{
	struct charge_record **link, *found = NULL;

	pthread_mutex_lock(&address_lock);
	for (link = bucket_of(address); *link; link = &(*link)->next) {
		if ((*link)->address == address &&
			(is_anybodys || (*link)->owner == owner)) {
			found = *link;
			*link = found->next;
			break;
		}
	}
	pthread_mutex_unlock(&address_lock);
	return found ? charge_of(found) : (struct clv_charge){0};
}

static struct charge_record *take_around(struct charge_record **link, uintptr_t address)
{
	for (; *link; link = &(*link)->next) {
		struct charge_record *record = *link;

		if (address - (uintptr_t)record->address < record->n_bytes) {
			*link = record->next;
			return record;
		}
	}
	return NULL;
}

struct clv_charge clv_charge_withdraw_around(const void *address, const void **ret_base)
{
	struct charge_record *found = NULL;

	pthread_mutex_lock(&address_lock);
	for (size_t i = 0; i < N_BUCKETS && !found; i++)
		found = take_around(&buckets[i], (uintptr_t)address);
	pthread_mutex_unlock(&address_lock);
	if (!found)
		return (struct clv_charge){0};
	*ret_base = found->address;
	return charge_of(found);
}

struct clv_charge clv_charge_withdraw(const void *address)
{
	return withdraw(address, NULL, true);
}

struct clv_charge clv_charge_withdraw_from(const void *owner, const void *address)
{
	return withdraw(address, owner, false);
}

void clv_release_pointer(const void *address)
{
	struct clv_charge charge = clv_charge_withdraw(address);

	clv_charge_undo(&charge);
}

bool clv_charge_unspill(const void *address)
{
	struct charge_record *record;
	bool is_charged = false;

	pthread_mutex_lock(&address_lock);
	record = *bucket_of(address);
	while (record && record->address != address)
		record = record->next;
	if (record && record->spilled && record->epoch == clv_ledger_epoch() &&
		clv_ledger_has_room(record->n_bytes))
		is_charged = clv_ledger_charge(record->n_bytes);
	if (is_charged) {
		clv_ledger_unspill(record->n_bytes, record->epoch);
		record->spilled = false;
	}
	pthread_mutex_unlock(&address_lock);
	return is_charged;
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
			give_back(record->n_bytes, record->epoch, record->spilled);
			free(record);
		}
	}
	pthread_mutex_unlock(&address_lock);
}

void clv_charges_disown(const void *owner)
{
	static const char gone;

	pthread_mutex_lock(&address_lock);
	for (size_t i = 0; i < N_BUCKETS; i++) {
		struct charge_record *record = buckets[i];

		for (; record; record = record->next) {
			if (record->owner == owner)
				record->owner = &gone;
		}
	}
	pthread_mutex_unlock(&address_lock);
}

void clv_charges_forget_parent(void)
{
	pthread_mutex_init(&address_lock, NULL);
}
