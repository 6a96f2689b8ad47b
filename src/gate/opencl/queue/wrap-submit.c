/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of all calls that submit a command to a queue.  One macro, because they differ
 * only in their parameters: each begins a submission, makes the driver's call with the
 * submission's event, and ends it. */
#include "base/cleanup.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/wrap.h"
#include "gate/opencl/queue/deferred.h"
#include "gate/opencl/queue/kernels.h"
#include "gate/opencl/queue/submit.h"
#include "gate/process/hot.h"
#include "gate/process/state.h"
#include "gate/queue/queues.h"
#include "gate/window/costs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE cl_command_queue queue
#define WAITS cl_uint n_waits, const cl_event *wait_list, cl_event *event
#define PASS_WAITS n_waits, wait_list, passed

/* function, (parameters), (arguments), cost key, whether it blocks, what the slow path
 * does first */
#define PREPARED_SUBMISSION(function, parameters, arguments, kind, blocking, prepare) \
	static __attribute__((noinline, cold)) cl_int slow_##function parameters      \
	{                                                                             \
		struct clv_submission submission;                                     \
		cl_event *passed;                                                     \
		cl_int r;                                                             \
                                                                                      \
		prepare;                                                              \
		r = clv_submission_begin(&submission, queue, (kind), (blocking),      \
			n_waits, wait_list, event);                                   \
		if (r != CL_SUCCESS)                                                  \
			return r;                                                     \
		n_waits = submission.n_waits;                                         \
		wait_list = submission.wait_list;                                     \
		passed = submission.event;                                            \
		return clv_submission_end(&submission, clv_real.function arguments);  \
	}                                                                             \
	static cl_int CL_API_CALL wrap_##function parameters                          \
	{                                                                             \
		cl_event *passed = event;                                             \
		struct clv_quick quick;                                               \
		cl_int r;                                                             \
                                                                                      \
		if (CLV_UNLIKELY((blocking) || clv_deferred_any() ||                  \
				 !clv_quick_begin(&quick, queue, (kind))))            \
			return slow_##function arguments;                             \
		r = clv_real.function arguments;                                      \
		clv_quick_end(&quick, r == CL_SUCCESS, event ? *event : NULL);        \
		return clv_event_return(event, r);                                    \
	}

#define SUBMISSION(function, parameters, arguments, kind, blocking) \
	PREPARED_SUBMISSION(function, parameters, arguments, kind, blocking, (void)0)

static size_t volume(const size_t *region)
{
	return region ? region[0] * region[1] * region[2] : 0;
}

/* clang-format off */
PREPARED_SUBMISSION(clEnqueueNDRangeKernel,
	(QUEUE, cl_kernel kernel, cl_uint dims, const size_t *offset, const size_t *global,
		const size_t *local, WAITS),
	(queue, kernel, dims, offset, global, local, PASS_WAITS),
	clv_kernel_kind(kernel, dims, global), false,
	clv_kernel_seed(
		clv_kernel_kind(kernel, dims, global), kernel, dims, global))

SUBMISSION(clEnqueueReadBuffer,
	(QUEUE, cl_mem buffer, cl_bool block, size_t offset, size_t n, void *to, WAITS),
	(queue, buffer, block, offset, n, to, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_READ, n), block)
SUBMISSION(clEnqueueWriteBuffer,
	(QUEUE, cl_mem buffer, cl_bool block, size_t offset, size_t n, const void *from, WAITS),
	(queue, buffer, block, offset, n, from, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_WRITE, n), block)
SUBMISSION(clEnqueueCopyBuffer,
	(QUEUE, cl_mem from, cl_mem to, size_t from_at, size_t to_at, size_t n, WAITS),
	(queue, from, to, from_at, to_at, n, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_COPY, n), false)
SUBMISSION(clEnqueueFillBuffer,
	(QUEUE, cl_mem buffer, const void *pattern, size_t n_pattern, size_t offset, size_t n,
		WAITS),
	(queue, buffer, pattern, n_pattern, offset, n, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_FILL, n), false)
SUBMISSION(clEnqueueReadBufferRect,
	(QUEUE, cl_mem buffer, cl_bool block, const size_t *at, const size_t *host_at,
		const size_t *region, size_t row, size_t slice, size_t host_row,
		size_t host_slice, void *to, WAITS),
	(queue, buffer, block, at, host_at, region, row, slice, host_row, host_slice, to,
		PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_READ, volume(region)), block)
SUBMISSION(clEnqueueWriteBufferRect,
	(QUEUE, cl_mem buffer, cl_bool block, const size_t *at, const size_t *host_at,
		const size_t *region, size_t row, size_t slice, size_t host_row,
		size_t host_slice, const void *from, WAITS),
	(queue, buffer, block, at, host_at, region, row, slice, host_row, host_slice, from,
		PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_WRITE, volume(region)), block)
SUBMISSION(clEnqueueCopyBufferRect,
	(QUEUE, cl_mem from, cl_mem to, const size_t *from_at, const size_t *to_at,
		const size_t *region, size_t from_row, size_t from_slice, size_t to_row,
		size_t to_slice, WAITS),
	(queue, from, to, from_at, to_at, region, from_row, from_slice, to_row, to_slice,
		PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_COPY, volume(region)), false)

SUBMISSION(clEnqueueReadImage,
	(QUEUE, cl_mem image, cl_bool block, const size_t *at, const size_t *region, size_t row,
		size_t slice, void *to, WAITS),
	(queue, image, block, at, region, row, slice, to, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_READ, volume(region)), block)
SUBMISSION(clEnqueueWriteImage,
	(QUEUE, cl_mem image, cl_bool block, const size_t *at, const size_t *region, size_t row,
		size_t slice, const void *from, WAITS),
	(queue, image, block, at, region, row, slice, from, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_WRITE, volume(region)), block)
SUBMISSION(clEnqueueCopyImage,
	(QUEUE, cl_mem from, cl_mem to, const size_t *from_at, const size_t *to_at,
		const size_t *region, WAITS),
	(queue, from, to, from_at, to_at, region, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_COPY, volume(region)), false)
SUBMISSION(clEnqueueCopyImageToBuffer,
	(QUEUE, cl_mem from, cl_mem to, const size_t *at, const size_t *region, size_t offset,
		WAITS),
	(queue, from, to, at, region, offset, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_COPY, volume(region)), false)
SUBMISSION(clEnqueueCopyBufferToImage,
	(QUEUE, cl_mem from, cl_mem to, size_t offset, const size_t *at, const size_t *region,
		WAITS),
	(queue, from, to, offset, at, region, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_COPY, volume(region)), false)
SUBMISSION(clEnqueueFillImage,
	(QUEUE, cl_mem image, const void *color, const size_t *at, const size_t *region, WAITS),
	(queue, image, color, at, region, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_FILL, volume(region)), false)

SUBMISSION(clEnqueueUnmapMemObject,
	(QUEUE, cl_mem object, void *mapped, WAITS),
	(queue, object, mapped, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_MAP, 0), false)
SUBMISSION(clEnqueueMigrateMemObjects,
	(QUEUE, cl_uint n, const cl_mem *objects, cl_mem_migration_flags flags, WAITS),
	(queue, n, objects, flags, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_MIGRATE, n), false)
SUBMISSION(clEnqueueTask,
	(QUEUE, cl_kernel kernel, WAITS),
	(queue, kernel, PASS_WAITS),
	clv_kernel_kind(kernel, 0, NULL), false)

SUBMISSION(clEnqueueSVMMemcpy,
	(QUEUE, cl_bool block, void *to, const void *from, size_t n, WAITS),
	(queue, block, to, from, n, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_COPY, n), block)
SUBMISSION(clEnqueueSVMMemFill,
	(QUEUE, void *to, const void *pattern, size_t n_pattern, size_t n, WAITS),
	(queue, to, pattern, n_pattern, n, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_FILL, n), false)
SUBMISSION(clEnqueueSVMMap,
	(QUEUE, cl_bool block, cl_map_flags flags, void *at, size_t n, WAITS),
	(queue, block, flags, at, n, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_MAP, n), block)
SUBMISSION(clEnqueueSVMUnmap,
	(QUEUE, void *at, WAITS),
	(queue, at, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_MAP, 0), false)
SUBMISSION(clEnqueueSVMMigrateMem,
	(QUEUE, cl_uint n, const void **pointers, const size_t *sizes,
		cl_mem_migration_flags flags, WAITS),
	(queue, n, pointers, sizes, flags, PASS_WAITS),
	clv_cost_key_bytes(CLV_COST_MIGRATE, n), false)
/* clang-format on */

/* A native kernel is a function of the program that runs in a thread of the driver.  It
 * may submit and must not wait, so it is called like a callback: by a function of the
 * gate, whose own data are in front of the arguments. */
struct native {
	_Alignas(max_align_t) void(CL_CALLBACK *function)(void *);
	_Alignas(max_align_t) char arguments[];
};

static void CL_CALLBACK run_native(void *block)
{
	struct native *native = block;

	clv_gate_callback_begin();
	native->function(native->arguments);
	clv_gate_callback_end();
}

/* The driver copies the arguments and writes the addresses of memory objects into its
 * copy, so the locations are those in the new block. */
static struct native *new_native(void(CL_CALLBACK *function)(void *),
	const void *arguments, size_t n_arguments, cl_uint n_objects,
	const void *const *locations, const void **ret_locations)
{
	struct native *native = n_arguments > SIZE_MAX - sizeof(*native)
					? NULL
					: malloc(sizeof(*native) + n_arguments);

	if (!native)
		return NULL;
	native->function = function;
	memcpy(native->arguments, arguments, n_arguments);
	for (cl_uint i = 0; i < n_objects; i++)
		ret_locations[i] = native->arguments +
				   ((const char *)locations[i] - (const char *)arguments);
	return native;
}

static cl_int enqueue_native(QUEUE, void(CL_CALLBACK *function)(void *), void *arguments,
	size_t n_arguments, cl_uint n_objects, const cl_mem *objects,
	const void **locations, WAITS)
{
	struct clv_submission submission;
	cl_int r = clv_submission_begin(&submission, queue,
		clv_cost_key_bytes(CLV_COST_NATIVE, 0), false, n_waits, wait_list, event);

	if (r != CL_SUCCESS)
		return r;
	return clv_submission_end(&submission,
		clv_real.clEnqueueNativeKernel(queue, function, arguments, n_arguments,
			n_objects, objects, locations, submission.n_waits,
			submission.wait_list, submission.event));
}

static cl_int CL_API_CALL wrap_clEnqueueNativeKernel(QUEUE,
	void(CL_CALLBACK *function)(void *), void *arguments, size_t n_arguments,
	cl_uint n_objects, const cl_mem *objects, const void **locations, WAITS)
{
	_cleanup_free_ struct native *native = NULL;
	_cleanup_free_ const void **moved = NULL;

	/* The driver returns the error for arguments that do not go together. */
	if (!function || (arguments == NULL) != (n_arguments == 0) ||
		(n_objects > 0 && (!arguments || !objects || !locations)))
		return enqueue_native(queue, function, arguments, n_arguments, n_objects,
			objects, locations, n_waits, wait_list, event);
	moved = calloc((size_t)n_objects + 1, sizeof(*moved));
	if (moved)
		native = new_native(
			function, arguments, n_arguments, n_objects, locations, moved);
	if (!native)
		return CL_OUT_OF_HOST_MEMORY;
	return enqueue_native(queue, run_native, native, sizeof(*native) + n_arguments,
		n_objects, objects, n_objects > 0 ? moved : NULL, n_waits, wait_list,
		event);
}

/* The two calls that return a pointer, and their error by an argument. */
static void *CL_API_CALL wrap_clEnqueueMapBuffer(QUEUE, cl_mem buffer, cl_bool block,
	cl_map_flags flags, size_t offset, size_t n, WAITS, cl_int *ret_error)
{
	struct clv_submission submission;
	cl_event *passed;
	void *mapped = NULL;
	cl_int r;

	r = clv_submission_begin(&submission, queue, clv_cost_key_bytes(CLV_COST_MAP, n),
		block, n_waits, wait_list, event);
	if (r == CL_SUCCESS) {
		n_waits = submission.n_waits;
		wait_list = submission.wait_list;
		passed = submission.event;
		mapped = clv_real.clEnqueueMapBuffer(
			queue, buffer, block, flags, offset, n, PASS_WAITS, &r);
		clv_submission_end(&submission, r);
	}
	if (ret_error)
		*ret_error = r;
	return mapped;
}

static void *CL_API_CALL wrap_clEnqueueMapImage(QUEUE, cl_mem image, cl_bool block,
	cl_map_flags flags, const size_t *at, const size_t *region, size_t *row,
	size_t *slice, WAITS, cl_int *ret_error)
{
	struct clv_submission submission;
	cl_event *passed;
	void *mapped = NULL;
	cl_int r;

	r = clv_submission_begin(&submission, queue,
		clv_cost_key_bytes(CLV_COST_MAP, volume(region)), block, n_waits,
		wait_list, event);
	if (r == CL_SUCCESS) {
		n_waits = submission.n_waits;
		wait_list = submission.wait_list;
		passed = submission.event;
		mapped = clv_real.clEnqueueMapImage(queue, image, block, flags, at,
			region, row, slice, PASS_WAITS, &r);
		clv_submission_end(&submission, r);
	}
	if (ret_error)
		*ret_error = r;
	return mapped;
}

#define WRAP(function) table->function = wrap_##function

void clv_opencl_wrap_submissions(cl_icd_dispatch *table)
{
	WRAP(clEnqueueNDRangeKernel);
	WRAP(clEnqueueReadBuffer);
	WRAP(clEnqueueWriteBuffer);
	WRAP(clEnqueueCopyBuffer);
	WRAP(clEnqueueFillBuffer);
	WRAP(clEnqueueReadBufferRect);
	WRAP(clEnqueueWriteBufferRect);
	WRAP(clEnqueueCopyBufferRect);
	WRAP(clEnqueueReadImage);
	WRAP(clEnqueueWriteImage);
	WRAP(clEnqueueCopyImage);
	WRAP(clEnqueueCopyImageToBuffer);
	WRAP(clEnqueueCopyBufferToImage);
	WRAP(clEnqueueFillImage);
	WRAP(clEnqueueMapBuffer);
	WRAP(clEnqueueMapImage);
	WRAP(clEnqueueUnmapMemObject);
	WRAP(clEnqueueMigrateMemObjects);
	WRAP(clEnqueueTask);
	WRAP(clEnqueueNativeKernel);
	WRAP(clEnqueueSVMMemcpy);
	WRAP(clEnqueueSVMMemFill);
	WRAP(clEnqueueSVMMap);
	WRAP(clEnqueueSVMUnmap);
	WRAP(clEnqueueSVMMigrateMem);
}
