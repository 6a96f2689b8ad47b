/* SPDX-License-Identifier: Apache-2.0 */
/* The table of OpenCL's calls as the gate knows it, and which of them it wraps.  Nothing
 * is attached here: programs come by that never look for a device. */
#include "base/cleanup.h"
#include "gate/charges.h"
#include "gate/opencl/entries.h"
#include "gate/opencl/held.h"
#include "gate/opencl/queue.h"
#include "gate/opencl/real.h"
#include "gate/opencl/workers.h"
#include "gate/tickets.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

cl_icd_dispatch clv_real;

static cl_icd_dispatch wrappers;
static cl_icd_dispatch filters; /* of what a program sees, alone */
static pthread_once_t begin_once = PTHREAD_ONCE_INIT;

static const char *const names[] = {
#define ENTRY(function) \
	[offsetof(cl_icd_dispatch, function) / sizeof(void *)] = #function,
	CLV_OPENCL_ENTRIES(ENTRY)
#undef ENTRY
};

static void forget_parent(void)
{
	clv_queues_forget_parent();
	clv_held_forget_parent();
	clv_charges_forget_parent();
	clv_tickets_forget_parent();
	clv_workers_forget_parent();
}

static const struct clv_gate_api api = {
	.attach_api = CLV_ATTACH_API_OPENCL,
	.mark_tails = clv_queues_mark_tails,
	.wait_for_marker = clv_queues_wait_for_marker,
	.look_aside = clv_queues_look_aside,
	.poll_ns = clv_queues_poll_ns,
	.queues = &clv_cl_queue_ops,
	.let_go = clv_held_let_go,
	.forget_parent = forget_parent,
	.tell_again = clv_workers_tell,
};

static void begin(void)
{
	clv_opencl_wrap_submissions(&wrappers);
	clv_opencl_wrap_waits(&wrappers);
	clv_opencl_wrap_queues(&wrappers);
	clv_opencl_wrap_memory(&wrappers);
	clv_opencl_wrap_svm(&wrappers);
	clv_opencl_wrap_devices(&wrappers);
	clv_opencl_wrap_extensions(&wrappers);
	clv_opencl_wrap_devices(&filters);
	clv_gate_init(&api);
}

void clv_opencl_begin(void)
{
	pthread_once(&begin_once, begin);
}

void **clv_opencl_entry(cl_icd_dispatch *table, size_t entry)
{
	return (void **)((char *)table + entry * sizeof(void *));
}

void *clv_opencl_wrapper(size_t entry)
{
	return entry < CLV_OPENCL_N_ENTRIES ? *clv_opencl_entry(&wrappers, entry) : NULL;
}

void *clv_opencl_filter(size_t entry)
{
	return entry < CLV_OPENCL_N_ENTRIES ? *clv_opencl_entry(&filters, entry) : NULL;
}

const char *clv_opencl_name(size_t entry)
{
	return entry < CLV_ARRAY_SIZE(names) ? names[entry] : NULL;
}

size_t clv_opencl_find_entry(const char *name)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return SIZE_MAX;
}
