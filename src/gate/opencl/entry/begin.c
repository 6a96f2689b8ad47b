/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that the gate for OpenCL supplies to the code that all gates share, and
 * the calls that it wraps. */
#include "gate/opencl/entry/begin.h"

#include "gate/attach/attachment.h"
#include "gate/memory/charges.h"
#include "gate/opencl/device/workers.h"
#include "gate/opencl/dispatch/context-notify.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/vendors.h"
#include "gate/opencl/dispatch/wrap.h"
#include "gate/opencl/entry/command-buffers.h"
#include "gate/opencl/queue/deferred.h"
#include "gate/opencl/queue/events.h"
#include "gate/opencl/queue/queue.h"
#include "gate/process/state.h"
#include "gate/process/tickets.h"
#include "gate/queue/blocked-queue.h"
#include "gate/queue/queues.h"
#include "gate/window/helper.h"

#include <pthread.h>

static pthread_once_t begin_once = PTHREAD_ONCE_INIT;

static void forget_parent(void)
{
	clv_queues_forget_parent();
	clv_deferred_forget_parent();
	clv_events_forget_parent();
	clv_charges_forget_parent();
	clv_tickets_forget_parent();
	clv_context_notify_forget_parent();
	clv_workers_forget_parent();
	clv_vendors_forget_parent();
	clv_command_buffers_forget_parent();
}

static const struct clv_gate_api api = {
	.attach_api = CLV_ATTACH_API_OPENCL,
	.run_helper = clv_helper_run,
	.mark_tails = clv_queues_mark_tails,
	.wait_for_marker = clv_queues_wait_for_marker,
	.book_queue = clv_queues_look_aside,
	.poll_ns = clv_queues_poll_ns,
	.queues = &clv_cl_queue_ops,
	.let_go = clv_deferred_release,
	.forget_parent = forget_parent,
	.report_again = clv_workers_tell,
};

static void begin(void)
{
	clv_opencl_wrap_notifications(&clv_opencl_wrappers);
	clv_opencl_wrap_submissions(&clv_opencl_wrappers);
	clv_opencl_wrap_waits(&clv_opencl_wrappers);
	clv_opencl_wrap_queues(&clv_opencl_wrappers);
	clv_opencl_wrap_memory(&clv_opencl_wrappers);
	clv_opencl_wrap_svm(&clv_opencl_wrappers);
	clv_opencl_wrap_devices(&clv_opencl_wrappers);
	clv_opencl_wrap_extensions(&clv_opencl_wrappers);
	clv_opencl_wrap_devices(&clv_opencl_filters);
	clv_gate_init(&api);
}

void clv_opencl_begin(void)
{
	pthread_once(&begin_once, begin);
}
