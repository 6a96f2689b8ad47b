/* SPDX-License-Identifier: Apache-2.0 */
/* Charges and what they hang on: memory objects by their destructor callback, shared
 * virtual memory and the like by address. */
#include "gate/opencl/objects.h"

#include "gate/gate.h"
#include "gate/opencl/real.h"

#include <pthread.h>
#include <stdlib.h>

#define N_BUCKETS 1024

struct charge_record {
	struct charge_record *next;
	const void *address;
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

static void CL_CALLBACK object_is_gone(cl_mem object, void *userdata)
{
	struct charge_record *record = userdata;

	(void)object;
	clv_ledger_release(record->n_bytes, record->epoch);
	free(record);
}

static void correct_charge(struct clv_charge *charge, cl_mem object)
{
	size_t real_bytes = 0;

	if (clv_real.clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof(real_bytes),
		    &real_bytes, NULL) != CL_SUCCESS ||
		real_bytes == charge->n_bytes)
		return;
	clv_ledger_correct(charge->n_bytes, real_bytes);
	charge->n_bytes = real_bytes;
}

cl_mem clv_charge_settle(
	struct clv_charge *charge, cl_mem object, bool correct, cl_int *ret_error)
{
	struct charge_record *record;

	if (!charge->charged)
		return object;
	if (!object) {
		clv_charge_undo(charge);
		return NULL;
	}
	if (correct)
		correct_charge(charge, object);
	record = malloc(sizeof(*record));
	if (record) {
		*record = (struct charge_record){
			.n_bytes = charge->n_bytes,
			.epoch = charge->epoch,
		};
		if (clv_real.clSetMemObjectDestructorCallback(
			    object, object_is_gone, record) == CL_SUCCESS)
			return object;
		free(record);
	}
	/* A charge that could never end must not begin. */
	clv_real.clReleaseMemObject(object);
	clv_charge_undo(charge);
	if (ret_error)
		*ret_error = CL_OUT_OF_HOST_MEMORY;
	return NULL;
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
	};
	free(found);
	return charge;
}

void clv_release_pointer(const void *address)
{
	struct clv_charge charge = clv_charge_withdraw(address);

	clv_charge_undo(&charge);
}

void clv_objects_forget_parent(void)
{
	pthread_mutex_init(&address_lock, NULL);
}
