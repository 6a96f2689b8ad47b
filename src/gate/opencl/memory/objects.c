/* SPDX-License-Identifier: Apache-2.0 */
/* Charges of memory objects, which end in the object's destructor callback. */
#include "gate/opencl/memory/objects.h"

#include "base/clock.h"
#include "base/units.h"
#include "gate/memory/charges.h"
#include "gate/memory/ledger.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/process/state.h"
#include "gate/process/thread.h"
#include "gate/process/tickets.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define RECORD_BYTES 1088
#define EXACT_BYTES ((uint64_t)64 << 10) /* from here on records are not charged */

#define AWAIT_NS (100 * CLV_NS_PER_MS)
#define LOOK_NS (500 * CLV_NS_PER_US)

struct charge_record {
	uint64_t n_bytes;
	uint32_t epoch;
};

/* Releases by the program after which the driver still had the object; and their number
 * when it was awaited in vain. */
static _Atomic uint32_t n_left, n_awaited;
static __thread uint32_t n_gone; /* objects whose destructors this thread has run */

cl_int clv_object_release(cl_mem object)
{
	uint32_t n = n_gone;
	cl_int r = clv_real.clReleaseMemObject(object);

	if (r == CL_SUCCESS && n == n_gone)
		atomic_fetch_add(&n_left, 1);
	return r;
}

/* Drivers have a command's objects for some time after its end: PoCL during its
 * callbacks, and 7.1 for milliseconds after a finish. */
static struct clv_charge await_room(uint64_t n_bytes)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	uint64_t until_ns = clv_clock_ns() + AWAIT_NS;
	struct clv_charge charge;

	do {
		nanosleep(&pause, NULL);
		charge = clv_charge_try(n_bytes);
	} while (charge.refused && clv_clock_ns() < until_ns);
	return charge;
}

struct clv_charge clv_object_charge(uint64_t n_bytes)
{
	struct clv_charge charge = clv_charge_try(n_bytes);
	uint32_t n = atomic_load(&n_left);

	if (charge.refused && n_bytes <= clv_ledger_quota_bytes() &&
		n != atomic_load(&n_awaited) && clv_gate_thread.callback_depth == 0) {
		charge = await_room(n_bytes);
		if (charge.refused)
			atomic_store(&n_awaited, n);
	}
	if (charge.refused)
		clv_ledger_count_refusal();
	return charge;
}

static void CL_CALLBACK object_is_gone(cl_mem object, void *ticket)
{
	struct charge_record *record = clv_ticket_take(ticket);

	(void)object;
	if (!record)
		return;
	clv_ledger_release(record->n_bytes, record->epoch);
	n_gone++;
	free(record);
}

/* False: the driver will not report when the object is gone. */
static bool tie(const struct clv_charge *charge, cl_mem object)
{
	struct charge_record *record = malloc(sizeof(*record));
	void *ticket;

	if (!record)
		return false;
	*record = (struct charge_record){
		.n_bytes = charge->n_bytes,
		.epoch = charge->epoch,
	};
	ticket = clv_ticket_new(record);
	if (ticket && clv_real.clSetMemObjectDestructorCallback(
			      object, object_is_gone, ticket) == CL_SUCCESS)
		return true;
	free(ticket ? clv_ticket_take(ticket) : record);
	return false;
}

uint64_t clv_object_bytes(uint64_t n_bytes)
{
	if (n_bytes >= EXACT_BYTES)
		return n_bytes;
	return n_bytes + RECORD_BYTES < EXACT_BYTES ? n_bytes + RECORD_BYTES
						    : EXACT_BYTES;
}

/* False: the size that the driver reports is over quota. */
static bool correct_charge(struct clv_charge *charge, cl_mem object)
{
	size_t real_bytes = 0;
	uint64_t n_bytes;

	if (clv_real.clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof(real_bytes),
		    &real_bytes, NULL) != CL_SUCCESS ||
		real_bytes == 0)
		return true;
	n_bytes = clv_object_bytes(real_bytes);
	if (n_bytes <= charge->n_bytes)
		clv_ledger_correct(charge->n_bytes, n_bytes);
	else if (!clv_ledger_charge(n_bytes - charge->n_bytes)) {
		clv_ledger_count_refusal();
		return false;
	}
	charge->n_bytes = n_bytes;
	return true;
}

cl_mem clv_charge_settle(
	struct clv_charge *charge, cl_mem object, bool correct, cl_int *error)
{
	cl_int r = CL_SUCCESS;

	if (!charge->charged)
		return object;
	if (!object) {
		clv_charge_undo(charge);
		return NULL;
	}
	if (correct && !correct_charge(charge, object))
		r = CL_MEM_OBJECT_ALLOCATION_FAILURE;
	/* A charge that would never end must not be made. */
	else if (!tie(charge, object))
		r = CL_OUT_OF_HOST_MEMORY;
	if (r == CL_SUCCESS)
		return object;
	/* If the object stays, so does the charge. */
	if (clv_real.clReleaseMemObject(object) == CL_SUCCESS)
		clv_charge_undo(charge);
	*error = r;
	return NULL;
}
