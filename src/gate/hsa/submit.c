/* SPDX-License-Identifier: Apache-2.0 */
/* Work that callers other than HIP give to a GPU.  Their queues are refused: a packet
 * starts with a store to device memory, which no call shows.  Their copies wait for the
 * turn, and are complete when the call returns. */
#include "base/clock.h"
#include "gate/attach/attachment.h"
#include "gate/hsa/caller.h"
#include "gate/hsa/library.h"
#include "gate/hsa/pools.h"
#include "gate/hsa/units.h"
#include "gate/process/packed.h"
#include "gate/process/state.h"
#include "gate/process/view.h"
#include "gate/window/costs.h"
#include "gate/window/flight.h"

struct turn {
	struct clv_view *view; /* NULL: the call takes no turn */
	uint64_t packed, kind, since_ns;
};

/* Whether the gate restricts the call: the caller is not HIP, and the process is attached
 * or was refused. */
static bool is_restricted(const void *caller)
{
	bool is_refused;

	return !clv_caller_is_hip(caller) && (clv_gate_view(&is_refused) || is_refused);
}

/* Around a call that gives the device work and returns when it is complete. turn_begin()
 * waits for the turn; an error of it is returned instead of the call. */
static int turn_begin(struct turn *turn, const void *caller, size_t n_bytes)
{
	bool is_refused = false;

	*turn = (struct turn){0};
	if (clv_caller_is_hip(caller))
		return CLV_HSA_SUCCESS;
	turn->view = clv_gate_view(&is_refused);
	if (!turn->view)
		return is_refused ? CLV_HSA_OUT_OF_RESOURCES : CLV_HSA_SUCCESS;
	turn->kind = clv_cost_key_bytes(CLV_COST_COPY, n_bytes);
	turn->packed = CLV_FLIGHT_PACK(clv_cost_estimate(turn->kind));
	if (!clv_flight_enter(turn->view, NULL, CLV_FLIGHT_NS(turn->packed)))
		clv_flight_enter_as_debt(turn->view, turn->packed);
	turn->since_ns = clv_clock_ns();
	clv_gate_wait_begin();
	return CLV_HSA_SUCCESS;
}

static int turn_end(const struct turn *turn, int result)
{
	if (!turn->view)
		return result;
	clv_gate_wait_end();
	clv_cost_learn(turn->kind, clv_clock_ns() - turn->since_ns, 1);
	clv_flight_leave(turn->packed);
	return result;
}

int clv_own_hsa_queue_create(clv_fn_hsa_queue_create *real, const void *caller,
	uint64_t agent, uint32_t size, uint32_t type, void *error, void *userdata,
	uint32_t private_bytes, uint32_t group_bytes, void *ret)
{
	bool is_gpus = clv_hsa_agent_is_gpu(agent);
	int r;

	if (is_restricted(caller) && is_gpus)
		return CLV_HSA_INVALID_QUEUE_CREATION;
	r = real(agent, size, type, error, userdata, private_bytes, group_bytes, ret);
	if (r == CLV_HSA_SUCCESS && is_gpus)
		clv_hsa_units_apply(*(void **)ret);
	return r;
}

int clv_own_hsa_memory_copy(clv_fn_hsa_memory_copy *real, const void *caller, void *dst,
	void *src, size_t n_bytes)
{
	struct turn turn;
	int r = turn_begin(&turn, caller, n_bytes);

	return r == CLV_HSA_SUCCESS ? turn_end(&turn, real(dst, src, n_bytes)) : r;
}

int clv_own_hsa_amd_memory_fill(clv_fn_hsa_amd_memory_fill *real, const void *caller,
	void *p, uint32_t value, size_t n)
{
	struct turn turn;
	int r = turn_begin(&turn, caller, sizeof(value) * n);

	return r == CLV_HSA_SUCCESS ? turn_end(&turn, real(p, value, n)) : r;
}

/* Copies that complete a signal.  The driver gets a signal of the gate's, for which the
 * gate waits; then it completes the program's signal in the same way. */
struct copy {
	struct turn turn;
	uint64_t signal;
};

static int copy_begin(struct copy *copy, const void *caller, size_t n_bytes,
	uint32_t n_deps, uint64_t *completion)
{
	int r;

	*copy = (struct copy){0};
	if (!is_restricted(caller))
		return CLV_HSA_SUCCESS;
	/* The calling thread may have to set the signals that the copy waits for. */
	if (n_deps > 0 ||
		clv_hsa.hsa_signal_create(1, 0, NULL, &copy->signal) != CLV_HSA_SUCCESS)
		return CLV_HSA_OUT_OF_RESOURCES;
	r = turn_begin(&copy->turn, caller, n_bytes);
	if (r != CLV_HSA_SUCCESS)
		clv_hsa.hsa_signal_destroy(copy->signal);
	else
		*completion = copy->signal;
	return r;
}

static int copy_end(struct copy *copy, uint64_t completion, int result)
{
	int end = 0;

	if (!copy->signal)
		return result;
	if (result == CLV_HSA_SUCCESS)
		end = clv_hsa.hsa_signal_wait_scacquire(copy->signal, CLV_HSA_SIGNAL_LESS,
			1, UINT64_MAX, CLV_HSA_WAIT_BLOCKED);
	turn_end(&copy->turn, result);
	clv_hsa.hsa_signal_destroy(copy->signal);
	if (result == CLV_HSA_SUCCESS && completion && end < 0)
		clv_hsa.hsa_signal_store_screlease(completion, end);
	else if (result == CLV_HSA_SUCCESS && completion)
		clv_hsa.hsa_signal_subtract_screlease(completion, 1);
	return result;
}

int clv_own_hsa_amd_memory_async_copy(clv_fn_hsa_amd_memory_async_copy *real,
	const void *caller, void *dst, uint64_t dst_agent, void *src, uint64_t src_agent,
	size_t n_bytes, uint32_t n_deps, void *deps, uint64_t completion)
{
	uint64_t signal = completion;
	struct copy copy;
	int r = copy_begin(&copy, caller, n_bytes, n_deps, &signal);

	if (r != CLV_HSA_SUCCESS)
		return r;
	return copy_end(&copy, completion,
		real(dst, dst_agent, src, src_agent, n_bytes, n_deps, deps, signal));
}

int clv_own_hsa_amd_memory_async_copy_on_engine(
	clv_fn_hsa_amd_memory_async_copy_on_engine *real, const void *caller, void *dst,
	uint64_t dst_agent, void *src, uint64_t src_agent, size_t n_bytes,
	uint32_t n_deps, void *deps, uint64_t completion, int engine, uint8_t is_forced)
{
	uint64_t signal = completion;
	struct copy copy;
	int r = copy_begin(&copy, caller, n_bytes, n_deps, &signal);

	if (r != CLV_HSA_SUCCESS)
		return r;
	return copy_end(&copy, completion,
		real(dst, dst_agent, src, src_agent, n_bytes, n_deps, deps, signal,
			engine, is_forced));
}

int clv_own_hsa_amd_memory_async_copy_rect(clv_fn_hsa_amd_memory_async_copy_rect *real,
	const void *caller, void *dst, void *dst_offset, void *src, void *src_offset,
	void *range, uint64_t agent, int direction, uint32_t n_deps, void *deps,
	uint64_t completion)
{
	uint64_t signal = completion;
	struct copy copy;
	int r = copy_begin(&copy, caller, 0, n_deps, &signal);

	if (r != CLV_HSA_SUCCESS)
		return r;
	return copy_end(&copy, completion,
		real(dst, dst_offset, src, src_offset, range, agent, direction, n_deps,
			deps, signal));
}

/* Calls that hardly any program makes and that HIP has no use for: refused. */

int clv_own_hsa_amd_svm_prefetch_async(clv_fn_hsa_amd_svm_prefetch_async *real,
	const void *caller, void *p, size_t n_bytes, uint64_t agent, uint32_t n_deps,
	void *deps, uint64_t completion)
{
	return is_restricted(caller) ? CLV_HSA_OUT_OF_RESOURCES
				     : real(p, n_bytes, agent, n_deps, deps, completion);
}

int clv_own_hsa_amd_memory_migrate(clv_fn_hsa_amd_memory_migrate *real,
	const void *caller, void *p, uint64_t pool, uint32_t flags)
{
	return is_restricted(caller) ? CLV_HSA_OUT_OF_RESOURCES : real(p, pool, flags);
}

int clv_own_hsa_ext_image_import(clv_fn_hsa_ext_image_import *real, const void *caller,
	uint64_t agent, void *src, size_t row, size_t slice, uint64_t image, void *region)
{
	return is_restricted(caller) ? CLV_HSA_OUT_OF_RESOURCES
				     : real(agent, src, row, slice, image, region);
}

int clv_own_hsa_ext_image_export(clv_fn_hsa_ext_image_export *real, const void *caller,
	uint64_t agent, uint64_t image, void *dst, size_t row, size_t slice, void *region)
{
	return is_restricted(caller) ? CLV_HSA_OUT_OF_RESOURCES
				     : real(agent, image, dst, row, slice, region);
}

int clv_own_hsa_ext_image_copy(clv_fn_hsa_ext_image_copy *real, const void *caller,
	uint64_t agent, uint64_t src, void *src_offset, uint64_t dst, void *dst_offset,
	void *range)
{
	return is_restricted(caller)
		       ? CLV_HSA_OUT_OF_RESOURCES
		       : real(agent, src, src_offset, dst, dst_offset, range);
}

int clv_own_hsa_ext_image_clear(clv_fn_hsa_ext_image_clear *real, const void *caller,
	uint64_t agent, uint64_t image, void *data, void *region)
{
	return is_restricted(caller) ? CLV_HSA_OUT_OF_RESOURCES
				     : real(agent, image, data, region);
}

/* The table has the driver's own image functions, which would bypass the gate. */
int clv_own_hsa_system_get_extension_table(clv_fn_hsa_system_get_extension_table *real,
	const void *caller, uint16_t extension, uint16_t major, uint16_t minor,
	void *table)
{
	if (extension == CLV_HSA_EXTENSION_IMAGES && is_restricted(caller))
		return CLV_HSA_ERROR;
	return real(extension, major, minor, table);
}

int clv_own_hsa_system_get_major_extension_table(
	clv_fn_hsa_system_get_major_extension_table *real, const void *caller,
	uint16_t extension, uint16_t major, size_t n_bytes, void *table)
{
	if (extension == CLV_HSA_EXTENSION_IMAGES && is_restricted(caller))
		return CLV_HSA_ERROR;
	return real(extension, major, n_bytes, table);
}
