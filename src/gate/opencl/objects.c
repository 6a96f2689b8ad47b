/* SPDX-License-Identifier: Apache-2.0 */
/* Charges of memory objects, which end in their destructor callback. */
#include "gate/opencl/objects.h"

#include "gate/gate.h"
#include "gate/opencl/real.h"

#include <stdlib.h>

#define RECORD_BYTES 1024
#define EXACT_BYTES ((uint64_t)64 << 10) /* so large, and its record does not count */

struct charge_record {
	uint64_t n_bytes;
	uint32_t epoch;
};

static void CL_CALLBACK object_is_gone(cl_mem object, void *userdata)
{
	struct charge_record *record = userdata;

	(void)object;
	clv_ledger_release(record->n_bytes, record->epoch);
	free(record);
}

uint64_t clv_object_bytes(uint64_t n_bytes)
{
	if (n_bytes >= EXACT_BYTES)
		return n_bytes;
	return n_bytes + RECORD_BYTES < EXACT_BYTES ? n_bytes + RECORD_BYTES
						    : EXACT_BYTES;
}

static void correct_charge(struct clv_charge *charge, cl_mem object)
{
	size_t real_bytes = 0;
	uint64_t n_bytes;

	if (clv_real.clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof(real_bytes),
		    &real_bytes, NULL) != CL_SUCCESS)
		return;
	n_bytes = clv_object_bytes(real_bytes);
	clv_ledger_correct(charge->n_bytes, n_bytes);
	charge->n_bytes = n_bytes;
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
