/* SPDX-License-Identifier: Apache-2.0 */
/* On how many multiprocessors a program's kernels run, as read by the kernels themselves.
 *
 * usage: gpu-units
 *
 * Prints how many the driver reports, and on how many a kernel of very many blocks was
 * seen, in a non-blocking stream and in the default stream. The double does not run code:
 * none. */
#include "../cuda/tenant.h"

#define UNITS_MAX 1024
#define MULTIPROCESSORS 16
#define NON_BLOCKING 1

int cuDeviceGetAttribute(int *ret, int attribute, int device);
int cuMemcpyDtoH_v2(void *to, dptr from, size_t bytes);
int cuMemsetD8_v2(dptr to, unsigned char value, size_t n);

/* Each block records its multiprocessor and stays for a tenth of a millisecond. */
static handle load_mark(void)
{
	static const char of_double[] = "cleave-double-module\nkernel mark 100000\n";
	static const char of_gpu[] =
		".version 7.0\n.target sm_70\n.address_size 64\n"
		".visible .entry mark(.param .u64 seen)\n{\n"
		".reg .u64 %p, %o, %t0, %t1;\n.reg .u32 %u;\n.reg .pred %c;\n"
		"ld.param.u64 %p, [seen];\nmov.u32 %u, %smid;\n"
		"mul.wide.u32 %o, %u, 4;\nadd.u64 %p, %p, %o;\n"
		"st.global.u32 [%p], 1;\nmov.u64 %t0, %globaltimer;\n"
		"again:\nmov.u64 %t1, %globaltimer;\nsub.u64 %t1, %t1, %t0;\n"
		"setp.lt.u64 %c, %t1, 100000;\n@%c bra again;\nret;\n}\n";
	handle module, function;

	if (cuModuleLoadData(&module, of_double) != 0)
		OK(cuModuleLoadData(&module, of_gpu));
	OK(cuModuleGetFunction(&function, module, "mark"));
	return function;
}

static int count_used(handle function, handle stream, unsigned n_blocks)
{
	static uint32_t seen[UNITS_MAX];
	dptr there;
	void *parameters[] = {&there};
	int n = 0;

	OK(cuMemAlloc_v2(&there, sizeof(seen)));
	OK(cuMemsetD8_v2(there, 0, sizeof(seen)));
	OK(cuCtxSynchronize());
	OK(cuLaunchKernel(
		function, n_blocks, 1, 1, 1024, 1, 1, 0, stream, parameters, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH_v2(seen, there, sizeof(seen)));
	OK(cuMemFree_v2(there));
	for (int i = 0; i < UNITS_MAX; i++)
		n += seen[i] == 1;
	return n;
}

int main(void)
{
	handle context, function, stream;
	int shown;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuDeviceGetAttribute(&shown, MULTIPROCESSORS, 0));
	OK(cuStreamCreate(&stream, NON_BLOCKING));
	function = load_mark();
	printf("%d %d %d\n", shown, count_used(function, stream, 64 * (unsigned)shown),
		count_used(function, NULL, 64 * (unsigned)shown));
	return 0;
}
