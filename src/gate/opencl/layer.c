/* SPDX-License-Identifier: Apache-2.0 */
/* The layer as the ICD loader sees it (OPENCL_LAYERS; CL/cl_layer.h): the loader hands
 * over its own calls and gets a table with the gate's in front.  Nothing is attached
 * here: every program that links the loader comes by, also one that never looks for a
 * device. */
#include "gate/opencl/held.h"
#include "gate/opencl/objects.h"
#include "gate/opencl/queue.h"
#include "gate/opencl/real.h"

#include <CL/cl_layer.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

cl_icd_dispatch clv_real;

static cl_icd_dispatch table; /* with our wrappers */

const cl_icd_dispatch *clv_opencl_table(void)
{
	return &table;
}

static void forget_parent(void)
{
	clv_queues_forget_parent();
	clv_held_forget_parent();
	clv_charges_forget_parent();
}

static const struct clv_gate_api api = {
	.attach_api = CLV_ATTACH_API_OPENCL,
	.mark_tails = clv_queues_mark_tails,
	.wait_for_marker = clv_queues_wait_for_marker,
	.poll_ns = clv_queues_poll_ns,
	.queues = &clv_cl_queue_ops,
	.let_go = clv_held_let_go,
	.forget_parent = forget_parent,
};

EXPORT cl_int CL_API_CALL clGetLayerInfo(
	cl_layer_info what, size_t room, void *value, size_t *ret_bytes)
{
	static const char name[] = "cleave";
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *from = what == CL_LAYER_NAME ? (const void *)name : &version;
	size_t n_bytes = what == CL_LAYER_NAME ? sizeof(name) : sizeof(version);

	if (what != CL_LAYER_NAME && what != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && room < n_bytes)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, n_bytes);
	if (ret_bytes)
		*ret_bytes = n_bytes;
	return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint n_entries, const cl_icd_dispatch *target,
	cl_uint *ret_n_entries, const cl_icd_dispatch **ret_dispatch)
{
	size_t n = n_entries * sizeof(void *);

	if (!target || !ret_n_entries || !ret_dispatch)
		return CL_INVALID_VALUE;
	/* A loader with fewer entries cannot call what it does not have; one with more
	 * keeps the rest to itself, and the gate must not let calls past it. */
	if (n > sizeof(clv_real))
		return CL_INVALID_VALUE;

	memcpy(&clv_real, target, n);
	table = clv_real;
	clv_opencl_wrap_submissions(&table);
	clv_opencl_wrap_waits(&table);
	clv_opencl_wrap_queues(&table);
	clv_opencl_wrap_memory(&table);
	clv_opencl_wrap_svm(&table);
	clv_opencl_wrap_devices(&table);
	clv_opencl_wrap_extensions(&table);
	clv_gate_init(&api);
	*ret_n_entries = n_entries;
	*ret_dispatch = &table;
	return CL_SUCCESS;
}
