/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the OpenCL ICD loader at run time from a table of symbols.  The agent does not
 * link with OpenCL, so it starts on a machine without it and can report what to install.
 */
#include "backend/opencl/library.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define LOADER_NAME "libOpenCL.so.1"

static const struct {
	const char *name;
	size_t offset;
} symbols[] = {
	{"clGetPlatformIDs", offsetof(struct clv_opencl_library, get_platforms)},
	{"clGetPlatformInfo", offsetof(struct clv_opencl_library, get_platform_info)},
	{"clGetDeviceIDs", offsetof(struct clv_opencl_library, get_devices)},
	{"clGetDeviceInfo", offsetof(struct clv_opencl_library, get_device_info)},
};

int clv_opencl_library_open(struct clv_opencl_library *ret, struct clv_error *err)
{
	struct clv_opencl_library library = {
		.handle = dlopen(LOADER_NAME, RTLD_NOW | RTLD_LOCAL)};

	if (!library.handle)
		return clv_error_set(err, -ENODEV,
			"no OpenCL loader (%s) on this machine: install the package "
			"ocl-icd-libopencl1",
			LOADER_NAME);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(symbols); i++) {
		void *address = dlsym(library.handle, symbols[i].name);

		if (!address) {
			dlclose(library.handle);
			return clv_error_set(err, -ENODEV,
				"%s has no %s: install the package ocl-icd-libopencl1",
				LOADER_NAME, symbols[i].name);
		}
		memcpy((char *)&library + symbols[i].offset, &address, sizeof(address));
	}
	*ret = library;
	return 0;
}

void clv_opencl_library_close(struct clv_opencl_library *library)
{
	if (library->handle)
		dlclose(library->handle);
	library->handle = NULL;
}
