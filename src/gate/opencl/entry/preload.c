/* SPDX-License-Identifier: Apache-2.0 */
/* A separate library for /etc/ld.so.preload in containers.  It makes OpenCL's loader load
 * the gate in each program, whatever the program's environment, and does nothing else.
 * So the gate is not loaded into programs that never look for a device. */
#include "base/paths.h"
#include "gate/opencl/entry/layers.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static __attribute__((constructor)) void switch_layer_on(void)
{
	char path[CLV_PATH_MAX];
	const char *slash;
	Dl_info self;

	if (!dladdr((void *)(uintptr_t)switch_layer_on, &self) || !self.dli_fname)
		return;
	slash = strrchr(self.dli_fname, '/');
	if (!slash)
		return;
	snprintf(path, sizeof(path), "%.*s/" CLV_GATE_OPENCL,
		(int)(slash - self.dli_fname), self.dli_fname);
	clv_layers_switch_on(path);
}
