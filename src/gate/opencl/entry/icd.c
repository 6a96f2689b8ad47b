/* SPDX-License-Identifier: Apache-2.0 */
/* The gate as a driver (ICD). cleave run and the CDI hook mount a folder that names only
 * this library over the folder of drivers.  The gate opens the real drivers (named in the
 * folder vendors.real beside it), attaches, and returns the lease's platform with the
 * gate in its table (vendors.h); if it is refused, no platform.  So no program bypasses
 * the gate, whichever loader it uses and whatever is left of its environment. */
#include "gate/opencl/entry/icd.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/paths.h"
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
/* Newer loaders (ocl-icd 2.3.4 with PoCL 7) skip a driver whose table has the tag of
 * cl_khr_icd 2.0.0 if the library lacks these two. */
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
static bool has_seen; /* the lease's platform was found; errors about it are reported */

static bool is_of_lease(const struct clv_view *view, const struct clv_vendor *vendor,
	cl_platform_id platform)
{
	char name[sizeof(view->platform)] = "";

	clv_vendor_platform_info(
		vendor, platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
	return strcmp(name, view->platform) == 0;
}

/* Takes all platforms in an ungated process, otherwise only the lease's. */
static void take_platforms_of(const char *library, const struct clv_view *view)
{
	/* A driver may report more platforms than it has written. */
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
	/* Closed first, because the driver may need the last descriptor. */
	fclose(file);
	if (!has_line)
		return;
	library[strcspn(library, "\r\n")] = '\0';
	take_platforms_of(library, view);
}

/* Those that `cleave run` found in the environment: libraries separated by colons. */
static void read_filenames(const struct clv_view *view)
{
	const char *list = getenv(CLV_GATED_FILENAMES);
	char library[4096];

	while (list && *list) {
		size_t n = strcspn(list, ":");

		snprintf(library, sizeof(library), "%.*s", (int)n, list);
		if (n > 0 && n < sizeof(library))
			take_platforms_of(library, view);
		list += n + (list[n] != '\0');
	}
}

static int is_icd_file(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 4 && strcmp(entry->d_name + length - 4, ".icd") == 0;
}

/* The clGetPlatformIDs that the wrappers call. */
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

	/* A lease on a device without OpenCL has no platform, and without a namespace the
	 * loader may open other drivers. */
	if (n_found > 0 || has_seen || !view || !view->platform[0] ||
		getenv("OCL_ICD_FILENAMES"))
		return;
	clv_error_set(&err, -ENODEV,
		"no driver in %.200s has the lease's platform, '%.100s'", folder,
		view->platform);
	clv_attach_report_refused(err.msg, "install its driver where the program runs");
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
	clv_opencl_set_own_lookup(own_function);
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
	/* Loaders read the layers after the drivers.  This keeps another copy of the gate
	 * from being loaded as a layer above this one. */
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
	read_filenames(view);
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
		       ? clv_opencl_lookup(name, vendor->get_function(platform, name))
		       : NULL;
}

cl_int CL_API_CALL clIcdSetPlatformDispatchDataKHR(cl_platform_id platform, void *data)
{
	const struct clv_vendor *vendor = vendor_of(platform);

	return vendor && vendor->set_data ? vendor->set_data(platform, data)
					  : CL_INVALID_PLATFORM;
}

/* Loaders ask the library, not the platform, for extension functions. */
void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
	void *function = name ? own_function(name) : NULL;

	for (cl_uint i = 0; name && !function && i < n_found; i++)
		function = clv_opencl_lookup(name, found[i].vendor.get_address(name));
	return function;
}

/* Loaders ask the library, not the platform, for the ICD suffix too. */
cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what,
	size_t room, void *value, size_t *ret_bytes)
{
	const struct clv_vendor *vendor = vendor_of(platform);

	return vendor ? clv_vendor_platform_info(
				vendor, platform, what, room, value, ret_bytes)
		      : CL_INVALID_PLATFORM;
}
