/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of kernels whose kernel object is new. */
#include "gate/opencl/queue/kernels.h"

#include "gate/opencl/dispatch/real.h"
#include "gate/window/costs.h"

static uint64_t hash_of_kernel(cl_kernel kernel)
{
	char name[256] = "";
	cl_program program = NULL;
	uint64_t hash;

	clv_real.clGetKernelInfo(
		kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);
	clv_real.clGetKernelInfo(
		kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name) - 1, name, NULL);
	hash = (uint64_t)(uintptr_t)program;
	for (const char *c = name; *c; c++)
		hash = (hash ^ (uint64_t)(unsigned char)*c) * CLV_COST_MULTIPLIER;
	return hash;
}

void clv_kernel_seed(
	uint64_t kind, cl_kernel kernel, cl_uint n_dimensions, const size_t *global_size)
{
	if (!kernel || clv_cost_estimate(kind) > 0)
		return;
	clv_cost_seed(kind, clv_kernel_kind((cl_kernel)(uintptr_t)hash_of_kernel(kernel),
				    n_dimensions, global_size));
}
