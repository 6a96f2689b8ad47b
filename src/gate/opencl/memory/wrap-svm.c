/* SPDX-License-Identifier: Apache-2.0 */
/* Shared virtual memory, which is charged by address when it is allocated.  A queued free
 * takes effect when the queue reaches it, so the gate always passes a free function of
 * its own. */
#include "gate/memory/charges.h"
#include "gate/opencl/dispatch/notify.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/wrap.h"
#include "gate/opencl/memory/objects.h"
#include "gate/opencl/queue/submit.h"
#include "gate/window/costs.h"

static void *CL_API_CALL wrap_clSVMAlloc(
	cl_context context, cl_svm_mem_flags flags, size_t n, cl_uint alignment)
{
	struct clv_charge charge = clv_object_charge(clv_object_bytes(n));
	void *address;

	if (charge.refused)
		return NULL;
	charge.owner = context;
	address = clv_real.clSVMAlloc(context, flags, n, alignment);
	if (address)
		clv_charge_pointer(&charge, address);
	else
		clv_charge_undo(&charge);
	return address;
}

static void CL_API_CALL wrap_clSVMFree(cl_context context, void *address)
{
	/* Withdrawn before the driver's free, because another thread may get the address
	 * right after it.  Memory of another context the driver does not free. */
	struct clv_charge charge = clv_charge_withdraw_from(context, address);

	clv_real.clSVMFree(context, address);
	clv_charge_undo(&charge);
}

static void free_all(cl_command_queue queue, cl_uint n, void **pointers)
{
	cl_context context = NULL;

	clv_real.clGetCommandQueueInfo(
		queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
	for (cl_uint i = 0; context && i < n; i++)
		wrap_clSVMFree(context, pointers[i]);
}

/* The program's own function frees the memory by clSVMFree, or not at all. */
typedef void(CL_CALLBACK *free_function)(cl_command_queue, cl_uint, void **, void *);

static void CL_CALLBACK run_queued_free(
	cl_command_queue queue, cl_uint n, void **pointers, void *ticket)
{
	struct clv_notify notify;

	if (!clv_notify_begin(ticket, &notify))
		return;
	if (notify.function)
		((free_function)notify.function)(queue, n, pointers, notify.userdata);
	else
		free_all(queue, n, pointers);
	clv_notify_end();
}

static cl_int CL_API_CALL wrap_clEnqueueSVMFree(cl_command_queue queue, cl_uint n,
	void **pointers, free_function function, void *userdata, cl_uint n_waits,
	const cl_event *wait_list, cl_event *event)
{
	void *ticket = clv_notify_new((void (*)(void))function, userdata);
	struct clv_submission submission;
	cl_int r;

	if (!ticket)
		return CL_OUT_OF_HOST_MEMORY;
	r = clv_submission_begin(&submission, queue, clv_cost_key_bytes(CLV_COST_MAP, 0),
		false, n_waits, wait_list, event);
	if (r == CL_SUCCESS) {
		r = clv_real.clEnqueueSVMFree(queue, n, pointers, run_queued_free, ticket,
			submission.n_waits, submission.wait_list, submission.event);
		clv_submission_end(&submission, r);
	}
	if (r != CL_SUCCESS)
		clv_notify_cancel(ticket);
	return r;
}

#define WRAP(function) table->function = wrap_##function

void clv_opencl_wrap_svm(cl_icd_dispatch *table)
{
	WRAP(clSVMAlloc);
	WRAP(clSVMFree);
	WRAP(clEnqueueSVMFree);
}
