/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/opencl/vendors.h"

#include "base/cleanup.h"
#include "gate/opencl/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* cl_khr_icd 2.0.0: in the place of clGetPlatformIDs and clUnloadCompiler. */
#if UINTPTR_MAX > UINT32_MAX
#define ICD2_TAG ((void *)0x4F50454E434C3331)
#else
#define ICD2_TAG ((void *)0x434C3331)
#endif

static atomic_bool is_gated;

bool clv_vendors_are_gated(void)
{
	return atomic_load(&is_gated);
}

bool clv_vendor_open(const char *path, struct clv_vendor *ret)
{
	struct clv_vendor vendor = {.library = dlopen(path, RTLD_NOW)};

	if (!vendor.library)
		return false;
	*(void **)&vendor.get_address =
		dlsym(vendor.library, "clGetExtensionFunctionAddress");
	if (!vendor.get_address)
		return false;
	*(void **)&vendor.get_platforms = vendor.get_address("clIcdGetPlatformIDsKHR");
	*(void **)&vendor.get_function =
		vendor.get_address("clIcdGetFunctionAddressForPlatformKHR");
	*(void **)&vendor.set_data =
		vendor.get_address("clIcdSetPlatformDispatchDataKHR");
	*ret = vendor;
	return vendor.get_platforms != NULL;
}

static void **table_of(cl_platform_id platform)
{
	return *(void ***)(void *)platform;
}

static void *function_of(
	const struct clv_vendor *vendor, cl_platform_id platform, const char *name)
{
	void **table = table_of(platform);
	size_t entry = clv_opencl_find_entry(name);

	if (table[0] == ICD2_TAG && vendor->get_function)
		return vendor->get_function(platform, name);
	return entry == SIZE_MAX ? NULL : table[entry];
}

cl_int clv_vendor_platform_info(const struct clv_vendor *vendor, cl_platform_id platform,
	cl_platform_info what, size_t room, void *value, size_t *ret_bytes)
{
	cl_int(CL_API_CALL * get_info)(
		cl_platform_id, cl_platform_info, size_t, void *, size_t *);

	*(void **)&get_info = function_of(vendor, platform, "clGetPlatformInfo");
	return get_info ? get_info(platform, what, room, value, ret_bytes)
			: CL_INVALID_PLATFORM;
}

/* How many entries a table of this version has at least; 0: a version that the gate does
 * not know. */
static size_t count_entries(const char *version)
{
	static const struct {
		unsigned major, minor;
		size_t n;
	} versions[] = {
		/* clang-format off */
		{ 1, 0, 66 },  { 1, 1, 89 },  { 1, 2, 108 }, { 2, 0, 136 },
		{ 2, 1, 144 }, { 2, 2, 146 }, { 3, 0, 149 }, { 3, 1, CLV_OPENCL_N_KNOWN },
		/* clang-format on */
	};
	unsigned major, minor;

	if (sscanf(version, "OpenCL %u.%u", &major, &minor) != 2)
		return 0;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(versions); i++) {
		if (versions[i].major == major && versions[i].minor == minor)
			return versions[i].n;
	}
	return 0;
}

static size_t ask_size_of_table(const struct clv_vendor *vendor, cl_platform_id platform)
{
	char version[256] = "";
	size_t n;

	clv_vendor_platform_info(vendor, platform, CL_PLATFORM_VERSION,
		sizeof(version) - 1, version, NULL);
	n = count_entries(version);
	if (n == 0)
		fprintf(stderr,
			"cleave: no device: the driver speaks '%s', and this gate knows "
			"OpenCL 1.0 to 3.1: a newer cleave may know it\n",
			version);
	return n;
}

/* A driver may have more than its version says, and then a program can call it; but what
 * lies behind a short table is something else.  The driver says by name what is what. */
static bool is_entry(
	const struct clv_vendor *vendor, void *const *table, size_t entry, size_t n)
{
	const char *name = clv_opencl_name(entry);

	if (entry < n)
		return table[entry] && table[entry] != ICD2_TAG;
	return table[entry] && (table[entry] == dlsym(vendor->library, name) ||
				       table[entry] == vendor->get_address(name));
}

/* Tables are constant in some drivers; whether this one was is not worth asking. */
static bool make_writable(void **table, size_t n)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)table & ~(page - 1);
	uintptr_t end = (uintptr_t)(table + n);

	if (mprotect((void *)first, end - first, PROT_READ | PROT_WRITE) == 0)
		return true;
	fprintf(stderr,
		"cleave: no device: the gate cannot write to the driver's table of "
		"calls: "
		"%s; what forbids it (a security module?) has to allow mprotect\n",
		strerror(errno));
	return false;
}

bool clv_vendor_gate(const struct clv_vendor *vendor, cl_platform_id platform)
{
	size_t n = ask_size_of_table(vendor, platform);
	void **table = table_of(platform);
	bool has_entry[CLV_OPENCL_N_ENTRIES];

	if (n == 0 || !make_writable(table, n))
		return false;
	clv_opencl_begin();
	for (size_t i = 0; i < CLV_OPENCL_N_ENTRIES; i++) {
		has_entry[i] = is_entry(vendor, table, i, n);
		*clv_opencl_entry(&clv_real, i) =
			table[0] == ICD2_TAG || has_entry[i]
				? function_of(vendor, platform, clv_opencl_name(i))
				: NULL;
	}
	*(void **)&clv_real.clGetExtensionFunctionAddress = (void *)vendor->get_address;
	atomic_store(&is_gated, true);
	for (size_t i = 0; i < CLV_OPENCL_N_ENTRIES; i++) {
		if (has_entry[i] && clv_opencl_wrapper(i))
			table[i] = clv_opencl_wrapper(i);
	}
	return true;
}
