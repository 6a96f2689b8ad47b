/* SPDX-License-Identifier: Apache-2.0 */
/* The gate as an ICD.  cleave run and the containers' hook have put a folder over that of
 * the drivers which names this library alone.  It opens the real vendors (named in the
 * folder vendors.real beside it), attaches, and hands out the lease's platform with the
 * gate in its calls (vendors.h); without a lease's word, none.  So nobody is let past the
 * gate, whichever loader looks and whatever environment it was left. */
#include "gate/opencl/entry/icd.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "gate/attach/attach.h"
#include "gate/attach/attachment.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/vendors.h"
#include "gate/opencl/entry/begin.h"
#include "gate/opencl/entry/layers.h"
#include "gate/opencl/entry/wrap-extension.h"
#include "gate/process/view.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
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

static struct found {
	cl_platform_id platform;
	struct clv_vendor vendor;
} found[MAX_PLATFORMS];
static cl_uint n_found;
static pthread_once_t search_once = PTHREAD_ONCE_INIT;
static bool has_seen; /* the lease's platform; what became of it has been said */

static bool is_of_lease(const struct clv_view *view, const struct clv_vendor *vendor,
	cl_platform_id platform)
{
	char name[sizeof(view->platform)] = "";

	clv_vendor_platform_info(
		vendor, platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
	return strcmp(name, view->platform) == 0;
}

/* Ungated, all that there are; else the lease's alone. */
static void take_platforms_of(const char *library, const struct clv_view *view)
{
	/* Of what the vendor says to be there it may have written less. */
	cl_platform_id platforms[MAX_PLATFORMS] = {0};
	struct clv_vendor vendor;
	cl_uint n = 0;

	if (!clv_vendor_open(library, &vendor) ||
		vendor.get_platforms(MAX_PLATFORMS, platforms, &n) != CL_SUCCESS)
		return;
	for (cl_uint i = 0; i < n && i < MAX_PLATFORMS && n_found < MAX_PLATFORMS; i++) {
		if (!platforms[i])
			continue;
		if (view && (n_found > 0 || !is_of_lease(view, &vendor, platforms[i])))
			continue;
		has_seen = true;
		if (view && !clv_vendor_gate(&vendor, platforms[i]))
			continue;
		found[n_found++] =
			(struct found){.platform = platforms[i], .vendor = vendor};
	}
}

static void read_icd_file(
	const char *folder, const char *name, const struct clv_view *view)
{
	char path[4096], library[4096];
	bool has_line;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file)
		return;
	has_line = fgets(library, sizeof(library), file);
	/* Where few may be open, the driver needs it. */
	fclose(file);
	if (!has_line)
		return;
	library[strcspn(library, "\r\n")] = '\0';
	take_platforms_of(library, view);
}

static int is_icd_file(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 4 && strcmp(entry->d_name + length - 4, ".icd") == 0;
}

/* What the wrappers take for the loader's. */
static cl_int CL_API_CALL list_platforms(
	cl_uint room, cl_platform_id *platforms, cl_uint *ret_n)
{
	if (n_found == 0)
		return PLATFORM_NOT_FOUND;
	for (cl_uint i = 0; platforms && i < room && i < n_found; i++)
		platforms[i] = found[i].platform;
	if (ret_n)
		*ret_n = n_found;
	return CL_SUCCESS;
}

static void say_missing(const struct clv_view *view, const char *folder)
{
	struct clv_error err = {0};

	/* A lease on a device that OpenCL does not know has no platform either, and a
	 * loader may have been told of a driver apart from the folder. */
	if (n_found > 0 || has_seen || !view || !view->platform[0] ||
		getenv("OCL_ICD_FILENAMES"))
		return;
	clv_error_set(&err, -ENODEV,
		"none of the drivers in %.200s shows the lease's platform, '%.100s'",
		folder, view->platform);
	clv_attach_say(err.msg, "install its driver where the program runs");
}

static void *own_function(const char *name)
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

	for (size_t i = 0; i < CLV_ARRAY_SIZE(ours); i++) {
		if (strcmp(name, ours[i].name) == 0)
			return ours[i].function;
	}
	return NULL;
}

void clv_icd_begin(void)
{
	clv_opencl_answer_with(own_function);
	clv_opencl_begin();
}

static void search(void)
{
	struct dirent **entries = NULL;
	struct clv_view *view;
	char folder[4096];
	const char *slash;
	bool refused;
	Dl_info self;
	int n;

	if (!dladdr((void *)(uintptr_t)search, &self) || !self.dli_fname)
		return;
	slash = strrchr(self.dli_fname, '/');
	if (!slash)
		return;
	/* Loaders read the layers after the vendors: no other copy of the gate shall come
	 * on top of this one. */
	clv_layers_switch_on(self.dli_fname);
	clv_icd_begin();
	view = clv_gate_view(&refused);
	if (refused)
		return;
	snprintf(folder, sizeof(folder), "%.*s/vendors.real",
		(int)(slash - self.dli_fname), self.dli_fname);
	n = scandir(folder, &entries, is_icd_file, alphasort);
	for (int i = 0; i < n; i++) {
		read_icd_file(folder, entries[i]->d_name, view);
		free(entries[i]);
	}
	free(entries);
	if (clv_vendors_are_gated())
		clv_real.clGetPlatformIDs = list_platforms;
	say_missing(view, folder);
}

cl_int CL_API_CALL clIcdGetPlatformIDsKHR(
	cl_uint room, cl_platform_id *platforms, cl_uint *ret_n)
{
	pthread_once(&search_once, search);
	return list_platforms(room, platforms, ret_n);
}

static const struct clv_vendor *vendor_of(cl_platform_id platform)
{
	for (cl_uint i = 0; i < n_found; i++) {
		if (found[i].platform == platform)
			return &found[i].vendor;
	}
	return NULL;
}

void *CL_API_CALL clIcdGetFunctionAddressForPlatformKHR(
	cl_platform_id platform, const char *name)
{
	const struct clv_vendor *vendor = vendor_of(platform);

	return vendor && vendor->get_function
		       ? clv_opencl_answer(name, vendor->get_function(platform, name))
		       : NULL;
}

cl_int CL_API_CALL clIcdSetPlatformDispatchDataKHR(cl_platform_id platform, void *data)
{
	const struct clv_vendor *vendor = vendor_of(platform);

	return vendor && vendor->set_data ? vendor->set_data(platform, data)
					  : CL_INVALID_PLATFORM;
}

/* A loader asks the library for its own extensions' functions. */
void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
	void *function = name ? own_function(name) : NULL;

	for (cl_uint i = 0; name && !function && i < n_found; i++)
		function = clv_opencl_answer(name, found[i].vendor.get_address(name));
	return function;
}

/* And, not the platform but the library, for the ICD suffix. */
cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what,
	size_t room, void *value, size_t *ret_bytes)
{
	const struct clv_vendor *vendor = vendor_of(platform);

	return vendor ? clv_vendor_platform_info(
				vendor, platform, what, room, value, ret_bytes)
		      : CL_INVALID_PLATFORM;
}
