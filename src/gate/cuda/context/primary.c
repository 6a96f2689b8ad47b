/* SPDX-License-Identifier: Apache-2.0 */
/* The primary context of a device. */
#include "gate/cuda/context/primary.h"

#include "gate/cuda/context/library.h"

bool clv_cuda_primary_is_active(int device)
{
	uint32_t flags;
	int is_active = 0;

	return clv_cuda.cuDevicePrimaryCtxGetState(device, &flags, &is_active) ==
		       CLV_CUDA_SUCCESS &&
	       is_active;
}

/* The context keeps its handle while any reference is left, so the gate's own reference,
 * taken to get the handle, is dropped at once. */
void *clv_cuda_primary(int device)
{
	void *context = NULL;

	if (!clv_cuda_primary_is_active(device) ||
		clv_cuda.cuDevicePrimaryCtxRetain(&context, device) != CLV_CUDA_SUCCESS)
		return NULL;
	clv_cuda.cuDevicePrimaryCtxRelease_v2(device);
	return context;
}
