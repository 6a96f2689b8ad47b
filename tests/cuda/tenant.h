/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "../doubles/cuda/selftest/cuda.h"
#include "../gate/checks.h"

/* The driver API as programs declare it, for tests that link libcuda.so.1. */

int cuStreamSynchronize_ptsz(handle stream);

/* A kernel that runs for as many nanoseconds as its u64 parameter says, for the driver's
 * double and for GPUs. */
static inline handle load_spin(void)
{
	static const char of_double[] = "cleave-double-module\nkernel spin param\n";
	static const char of_gpu[] =
		".version 7.0\n.target sm_70\n.address_size 64\n"
		".visible .entry spin(.param .u64 ns)\n{\n"
		".reg .u64 %n, %t0, %t1;\n.reg .pred %p;\n"
		"ld.param.u64 %n, [ns];\nmov.u64 %t0, %globaltimer;\n"
		"again:\nmov.u64 %t1, %globaltimer;\nsub.u64 %t1, %t1, %t0;\n"
		"setp.lt.u64 %p, %t1, %n;\n@%p bra again;\nret;\n}\n";
	handle module, function;

	if (cuModuleLoadData(&module, of_double) != 0)
		OK(cuModuleLoadData(&module, of_gpu));
	OK(cuModuleGetFunction(&function, module, "spin"));
	return function;
}
