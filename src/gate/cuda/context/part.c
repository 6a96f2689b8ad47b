/* SPDX-License-Identifier: Apache-2.0 */
/* The number of multiprocessors that programs see, and what applies the limit to a
 * launch.  Only the driver shows whether an MPS server does: a context has an execution
 * affinity only then. */
#include "gate/cuda/context/part.h"

#include "gate/attach/sm.h"
#include "gate/cuda/context/library.h"
#include "gate/process/view.h"

#include <stdio.h>
#include <stdlib.h>

#define PPM UINT64_C(1000000)
#define PPM_OF_PERCENT 10000u
#define MPS_STEP 2u /* MPS rounds down to it: a quarter of 188 is 46 */

#define PERCENTAGE "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
/* If set, each new context gets the percentage that the variable has at that time. */
#define PER_CONTEXT "CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING"

void clv_cuda_part_begin(void)
{
	uint32_t percent = clv_sm_limit_get().ppm / PPM_OF_PERCENT;
	const char *text_before = getenv(PERCENTAGE);
	unsigned long percent_before = text_before ? strtoul(text_before, NULL, 10) : 0;
	char text[16];

	if (clv_sm_limit_get().ppm == 0)
		return;
	percent = percent > 0 ? percent : 1;
	snprintf(text, sizeof(text), "%u", percent);
	if (percent_before == 0 || percent_before >= percent)
		setenv(PERCENTAGE, text, 1);
	setenv(PER_CONTEXT, "0", 1);
}

/* The agent's count comes first, because the driver's may be limited already. */
static uint32_t max_count(const struct clv_sm_limit *limit)
{
	uint32_t n = limit->count;
	int all = 0;

	if (n == 0 &&
		clv_cuda.cuDeviceGetAttribute(&all, CLV_CUDA_ATTRIBUTE_MULTIPROCESSORS,
			CLV_CUDA_PART_DEVICE) == CLV_CUDA_SUCCESS)
		n = (uint32_t)((uint64_t)all * limit->ppm / PPM);
	return n > MPS_STEP ? n : MPS_STEP;
}

/* Drivers round up, so smaller parts are requested until one is within the limit.  If
 * none is, the result is the smallest part that the driver hands out. */
bool clv_cuda_part_take(struct clv_cuda_resource *ret)
{
	struct clv_sm_limit limit = clv_sm_limit_get();
	struct clv_cuda_resource all;
	uint32_t n = 0;

	if (limit.ppm == 0 ||
		clv_cuda.cuDeviceGetDevResource(CLV_CUDA_PART_DEVICE, &all,
			CLV_CUDA_RESOURCE_MULTIPROCESSORS) != CLV_CUDA_SUCCESS)
		return false;
	for (uint32_t wanted = max_count(&limit); wanted > 0; wanted--) {
		n = 1;
		if (clv_cuda.cuDevSmResourceSplitByCount(
			    ret, &n, &all, NULL, 0, wanted) != CLV_CUDA_SUCCESS)
			n = 0;
		if (n == 1 && ret->count <= max_count(&limit))
			break;
	}
	return n == 1;
}

static uint32_t visible_count(const struct clv_sm_limit *limit)
{
	const struct clv_view *view = clv_gate_current_view();
	struct clv_cuda_resource part;

	if (view && atomic_load(&view->sm_count) > 0)
		return atomic_load(&view->sm_count);
	return clv_cuda_part_take(&part) ? part.count
					 : max_count(limit) / MPS_STEP * MPS_STEP;
}

int clv_own_cuDeviceGetAttribute(
	clv_fn_cuDeviceGetAttribute *real, void *ret, int attribute, int device)
{
	struct clv_sm_limit limit = clv_sm_limit_get();
	int r = real(ret, attribute, device), *count = ret;

	if (r == CLV_CUDA_SUCCESS && attribute == CLV_CUDA_ATTRIBUTE_MULTIPROCESSORS &&
		limit.ppm > 0 && *count > (int)visible_count(&limit))
		*count = (int)visible_count(&limit);
	return r;
}

/* Cuts the driver's resource to the lease's part.  The program can make green contexts
 * only of what it gets here. */
static int cut_resource(int result, struct clv_cuda_resource *resource, int type)
{
	struct clv_cuda_resource part;

	if (result == CLV_CUDA_SUCCESS && type == CLV_CUDA_RESOURCE_MULTIPROCESSORS &&
		clv_cuda_part_take(&part) && resource->count > part.count)
		*resource = part;
	return result;
}

int clv_own_cuDeviceGetDevResource(
	clv_fn_cuDeviceGetDevResource *real, int device, void *ret, int type)
{
	return cut_resource(real(device, ret, type), ret, type);
}

int clv_own_cuCtxGetDevResource(
	clv_fn_cuCtxGetDevResource *real, void *context, void *ret, int type)
{
	return cut_resource(real(context, ret, type), ret, type);
}

int clv_own_cuStreamGetDevResource(clv_fn_cuStreamGetDevResource *real,
	bool is_per_thread, void *stream, void *ret, int type)
{
	(void)is_per_thread;
	return cut_resource(real(stream, ret, type), ret, type);
}

bool clv_cuda_part_is_of_mps(void)
{
	struct clv_sm_limit limit = clv_sm_limit_get();
	struct clv_cuda_affinity affinity = {0};

	if (clv_cuda.cuCtxGetExecAffinity(&affinity, CLV_CUDA_AFFINITY_MULTIPROCESSORS) !=
			CLV_CUDA_SUCCESS ||
		affinity.count == 0 || affinity.count > max_count(&limit))
		return false;
	clv_sm_tell(CLV_ATTACH_SM_MPS, affinity.count);
	return true;
}

/* The program's green contexts are within the limit: see cut_resource(). */
bool clv_cuda_part_applies_to(void *stream)
{
	void *green = NULL;

	if (clv_sm_limit_get().ppm == 0 || clv_cuda_part_is_of_mps())
		return true;
	return clv_cuda.cuStreamGetGreenCtx(stream, &green) == CLV_CUDA_SUCCESS && green;
}

/* The kernel runs in the context in which it was loaded, in whatever stream the graph is
 * launched. */
void clv_cuda_part_report_graph_kernel(void)
{
	if (clv_sm_limit_get().ppm > 0 && !clv_cuda_part_is_of_mps())
		clv_sm_tell(CLV_ATTACH_SM_OTHER_GRAPH, 0);
}
