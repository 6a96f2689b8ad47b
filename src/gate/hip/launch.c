/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that name their stream in an unusual way: by a C++ function, in two calls, or
 * for several devices at once. */
#include "gate/hip/library.h"
#include "gate/streams/submit.h"
#include "gate/window/costs.h"

/* The stream of the last hipConfigureCall, for the next hipLaunchByPtr. */
static __thread void *configured_stream __attribute__((tls_model("initial-exec")));

/* hip_impl::hipLaunchKernelGGLImpl returns void: the program does not see the result. */
int clv_own__ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv(
	clv_fn__ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv *real,
	void *f, const struct clv_hip_dim3 *grid, const struct clv_hip_dim3 *block,
	uint32_t shared, void *stream, void *args)
{
	struct clv_stream_submission submission;
	int r = clv_stream_launch_begin(&submission, stream, false,
		clv_cost_key_kernel(f, grid->x, grid->y, grid->z), false);

	if (r != CLV_HIP_SUCCESS)
		return r;
	real(f, grid, block, shared, stream, args);
	return clv_stream_submission_end(&submission, CLV_HIP_SUCCESS);
}

int clv_own_hipConfigureCall(clv_fn_hipConfigureCall *real, struct clv_hip_dim3 grid,
	struct clv_hip_dim3 block, size_t shared, void *stream)
{
	configured_stream = stream;
	return real(grid, block, shared, stream);
}

int clv_own_hipLaunchByPtr(clv_fn_hipLaunchByPtr *real, void *f)
{
	struct clv_stream_submission submission;
	int r = clv_stream_launch_begin(&submission, configured_stream, false,
		clv_cost_key_kernel(f, 0, 0, 0), false);

	if (r == CLV_HIP_SUCCESS)
		r = clv_stream_submission_end(&submission, real(f));
	return r;
}

int clv_own_hipLaunchCooperativeKernelMultiDevice(
	clv_fn_hipLaunchCooperativeKernelMultiDevice *real, void *launches, int n,
	uint32_t flags)
{
	const struct clv_hip_launch_of_several *first = launches;
	struct clv_stream_submission submission;
	int r;

	if (!first || n <= 0)
		return real(launches, n, flags);
	r = clv_stream_launch_begin(&submission, first->stream, false,
		clv_cost_key_kernel(
			first->function, first->grid.x, first->grid.y, first->grid.z),
		false);
	if (r == CLV_HIP_SUCCESS)
		r = clv_stream_submission_end(&submission, real(launches, n, flags));
	return r;
}

int clv_own_hipExtLaunchMultiKernelMultiDevice(
	clv_fn_hipExtLaunchMultiKernelMultiDevice *real, void *launches, int n,
	uint32_t flags)
{
	return clv_own_hipLaunchCooperativeKernelMultiDevice(real, launches, n, flags);
}

int clv_own_hipModuleLaunchCooperativeKernelMultiDevice(
	clv_fn_hipModuleLaunchCooperativeKernelMultiDevice *real, void *launches,
	uint32_t n, uint32_t flags)
{
	const struct clv_hip_module_launch_of_several *first = launches;
	struct clv_stream_submission submission;
	int r;

	if (!first || n == 0)
		return real(launches, n, flags);
	r = clv_stream_launch_begin(&submission, first->stream, false,
		clv_cost_key_kernel(
			first->function, first->grid[0], first->grid[1], first->grid[2]),
		false);
	if (r == CLV_HIP_SUCCESS)
		r = clv_stream_submission_end(&submission, real(launches, n, flags));
	return r;
}
