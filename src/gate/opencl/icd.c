/* SPDX-License-Identifier: Apache-2.0 */
/* The gate as an ICD.  Children whose environment was emptied lose OPENCL_LAYERS; what
 * they still find is the ICD folder, and cleave run has put a folder of the lease's own
 * over it that names this library alone.  Loaded that way it opens the real vendors
 * (named in the folder vendors.real beside it) and switches the layer on: the loader
 * reads OPENCL_LAYERS only after it has read the ICDs (ocl-icd 2.3.1; checked). */
#include "gate/opencl/layers.h"

#include "base/cleanup.h"

#include <CL/cl_icd.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_PLATFORMS 32

#define PLATFORM_NOT_FOUND (-1001) /* CL_PLATFORM_NOT_FOUND_KHR */

EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(
	cl_uint room, cl_platform_id *platforms, cl_uint *ret_n);
EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name);
EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform,
	cl_platform_info what, size_t room, void *value, size_t *ret_bytes);
/* cl_khr_icd 2.0.0: a vendor whose table says so is skipped by newer loaders (ocl-icd
 * 2.3.4 with PoCL 7) if the library has not got these two. */
EXPORT void *CL_API_CALL clIcdGetFunctionAddressForPlatformKHR(
	cl_platform_id platform, const char *name);
EXPORT cl_int CL_API_CALL clIcdSetPlatformDispatchDataKHR(
	cl_platform_id platform, void *data);

typedef cl_int(CL_API_CALL *get_platforms_function)(cl_uint, cl_platform_id *, cl_uint *);
typedef void *(CL_API_CALL *get_address_function)(const char *);
typedef void *(CL_API_CALL *get_function_function)(cl_platform_id, const char *);
typedef cl_int(CL_API_CALL *set_data_function)(cl_platform_id, void *);

/* Of the vendor that the platform is of; NULL: it is older than that. */
struct vendor {
	get_function_function get_function;
	set_data_function set_data;
};

static cl_platform_id platforms_found[MAX_PLATFORMS];
static struct vendor vendors_found[MAX_PLATFORMS]; /* of the platforms */
static cl_uint n_platforms_found;
static bool searched;

static void take_platforms_of(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);
	get_address_function get_address;
	get_platforms_function get_platforms;
	struct vendor vendor;
	cl_uint first = n_platforms_found, n = 0;

	if (!handle)
		return;
	get_address =
		(get_address_function)dlsym(handle, "clGetExtensionFunctionAddress");
	if (!get_address)
		return;
	get_platforms = (get_platforms_function)get_address("clIcdGetPlatformIDsKHR");
	if (!get_platforms)
		return;
	if (get_platforms(MAX_PLATFORMS - n_platforms_found,
		    platforms_found + n_platforms_found, &n) == CL_SUCCESS)
		n_platforms_found += n;
	if (n_platforms_found > MAX_PLATFORMS)
		n_platforms_found = MAX_PLATFORMS;
	vendor.get_function = (get_function_function)get_address(
		"clIcdGetFunctionAddressForPlatformKHR");
	vendor.set_data =
		(set_data_function)get_address("clIcdSetPlatformDispatchDataKHR");
	for (cl_uint i = first; i < n_platforms_found; i++)
		vendors_found[i] = vendor;
}

static void read_icd_file(const char *folder, const char *name)
{
	char path[4096], library[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(library, sizeof(library), file)) {
		library[strcspn(library, "\r\n")] = '\0';
		take_platforms_of(library);
	}
	fclose(file);
}

static int is_icd_file(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 4 && strcmp(entry->d_name + length - 4, ".icd") == 0;
}

static void search(void)
{
	struct dirent **entries = NULL;
	char folder[4096];
	const char *slash;
	Dl_info self;
	int n;

	if (searched)
		return;
	searched = true;
	if (!dladdr((void *)(uintptr_t)search, &self) || !self.dli_fname)
		return;
	slash = strrchr(self.dli_fname, '/');
	if (!slash)
		return;
	snprintf(folder, sizeof(folder), "%.*s/vendors.real",
		(int)(slash - self.dli_fname), self.dli_fname);
	n = scandir(folder, &entries, is_icd_file, alphasort);
	for (int i = 0; i < n; i++) {
		read_icd_file(folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	clv_layers_switch_on(self.dli_fname);
}

cl_int CL_API_CALL clIcdGetPlatformIDsKHR(
	cl_uint room, cl_platform_id *platforms, cl_uint *ret_n)
{
	search();
	if (n_platforms_found == 0)
		return PLATFORM_NOT_FOUND;
	for (cl_uint i = 0; platforms && i < room && i < n_platforms_found; i++)
		platforms[i] = platforms_found[i];
	if (ret_n)
		*ret_n = n_platforms_found;
	return CL_SUCCESS;
}

static const struct vendor *vendor_of(cl_platform_id platform)
{
	for (cl_uint i = 0; i < n_platforms_found; i++) {
		if (platforms_found[i] == platform)
			return &vendors_found[i];
	}
	return NULL;
}

void *CL_API_CALL clIcdGetFunctionAddressForPlatformKHR(
	cl_platform_id platform, const char *name)
{
	const struct vendor *vendor = vendor_of(platform);

	return vendor && vendor->get_function ? vendor->get_function(platform, name)
					      : NULL;
}

cl_int CL_API_CALL clIcdSetPlatformDispatchDataKHR(cl_platform_id platform, void *data)
{
	const struct vendor *vendor = vendor_of(platform);

	return vendor && vendor->set_data ? vendor->set_data(platform, data)
					  : CL_INVALID_PLATFORM;
}

void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
	static const struct {
		const char *name;
		void *function;
	} ours[] = {
#define OURS(function) {#function, (void *)(uintptr_t)(function)}
		OURS(clIcdGetPlatformIDsKHR),
		OURS(clIcdGetFunctionAddressForPlatformKHR),
		OURS(clIcdSetPlatformDispatchDataKHR),
#undef OURS
	};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (strcmp(name, ours[i].name) == 0)
			return ours[i].function;
	}
	return NULL;
}

/* The loader asks the library, not the platform, about the ICD suffix. */
cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what,
	size_t room, void *value, size_t *ret_bytes)
{
	const cl_icd_dispatch *dispatch;

	if (!platform)
		return CL_INVALID_PLATFORM;
	dispatch = *(const cl_icd_dispatch *const *)(const void *)platform;
	return dispatch->clGetPlatformInfo(platform, what, room, value, ret_bytes);
}
