/* SPDX-License-Identifier: Apache-2.0 */
/* Opens drivers and writes the gate's wrappers into their tables (vendors.h). */
#include "gate/opencl/dispatch/vendors.h"

#include "base/cleanup.h"
#include "gate/opencl/dispatch/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* cl_khr_icd 2.0.0: a table has this tag in place of clGetPlatformIDs and
 * clUnloadCompiler. */
#if UINTPTR_MAX > UINT32_MAX
#define ICD2_TAG ((void *)0x4F50454E434C3331)
#else
#define ICD2_TAG ((void *)0x434C3331)
#endif

/* A driver with more tables has one for each object. */
#define MAX_TABLES 16

_Atomic(void **) clv_vendor_table;

/* The driver of the first table.  Then the tables with wrappers, the first one among
 * them. */
static struct clv_vendor gated;
static size_t n_entries;
static _Atomic(void **) tables[MAX_TABLES];
static pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;

bool clv_vendors_are_gated(void)
{
	return atomic_load(&clv_vendor_table) != NULL;
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

/* The number of entries that a table of this version has at least; 0: the gate does not
 * know the version. */
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
			"cleave: no device: the driver's version is '%s', and this gate "
			"supports OpenCL 1.0 to 3.1; a newer cleave may support it\n",
			version);
	return n;
}

/* What the gate itself calls, whatever the program calls. */
static const char *const needed[] = {
	"clGetPlatformInfo",
	"clGetDeviceIDs",
	"clGetDeviceInfo",
	"clCreateContext",
	"clReleaseContext",
	"clGetContextInfo",
	"clReleaseCommandQueue",
	"clGetCommandQueueInfo",
	"clReleaseMemObject",
	"clGetMemObjectInfo",
	"clSetMemObjectDestructorCallback",
	"clGetKernelInfo",
	"clWaitForEvents",
	"clGetEventInfo",
	"clRetainEvent",
	"clReleaseEvent",
	"clCreateUserEvent",
	"clSetUserEventStatus",
	"clFlush",
	"clFinish",
	"clEnqueueMarkerWithWaitList",
};

bool clv_vendor_has_needed(void)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(needed); i++) {
		if (*clv_opencl_entry(&clv_real, clv_opencl_find_entry(needed[i])))
			continue;
		fprintf(stderr,
			"cleave: no device: the driver, or the program's OpenCL loader, "
			"lacks %s, which the gate needs to enforce the lease; a newer "
			"one may have it\n",
			needed[i]);
		return false;
	}
	return true;
}

/* Whether the memory at the address can be read.  mincore() fails for what is not mapped.
 */
static bool is_mapped(const void *address)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char is_resident;

	return mincore((void *)((uintptr_t)address & ~(page - 1)), 1, &is_resident) == 0;
}

/* Whether the table has this entry.  A driver may have entries beyond its version, which
 * a program can call; but behind a short table there is other data.  An entry there
 * counts if the driver returns the same address for its name. */
static bool is_entry(
	const struct clv_vendor *vendor, void *const *table, size_t entry, size_t n)
{
	const char *name = clv_opencl_name(entry);

	if (entry < n)
		return table[entry] && table[entry] != ICD2_TAG;
	if (!is_mapped(&table[entry]))
		return false;
	return table[entry] && (table[entry] == dlsym(vendor->library, name) ||
				       table[entry] == vendor->get_address(name));
}

/* In some drivers the table is in read-only memory.  Whether it is in this one is not
 * tested. */
static bool make_writable(void **table, const bool has_entry[CLV_OPENCL_N_ENTRIES])
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)table & ~(page - 1), end;
	size_t n = CLV_OPENCL_N_ENTRIES;

	while (n > 0 && !has_entry[n - 1])
		n--;
	end = (uintptr_t)(table + n);
	if (mprotect((void *)first, end - first, PROT_READ | PROT_WRITE) == 0)
		return true;
	fprintf(stderr,
		"cleave: no device: the gate cannot write to the driver's table of "
		"calls: "
		"%s; a security module that forbids it must allow mprotect\n",
		strerror(errno));
	return false;
}

static void put_wrappers(void **table, const bool has_entry[CLV_OPENCL_N_ENTRIES])
{
	for (size_t i = 0; i < CLV_OPENCL_N_ENTRIES; i++) {
		if (has_entry[i] && clv_opencl_wrapper(i))
			table[i] = clv_opencl_wrapper(i);
	}
}

bool clv_vendor_gate(const struct clv_vendor *vendor, cl_platform_id platform)
{
	size_t n = ask_size_of_table(vendor, platform);
	void **table = table_of(platform);
	bool has_entry[CLV_OPENCL_N_ENTRIES];

	if (n == 0)
		return false;
	for (size_t i = 0; i < CLV_OPENCL_N_ENTRIES; i++) {
		has_entry[i] = is_entry(vendor, table, i, n);
		*clv_opencl_entry(&clv_real, i) =
			table[0] == ICD2_TAG || has_entry[i]
				? function_of(vendor, platform, clv_opencl_name(i))
				: NULL;
	}
	*(void **)&clv_real.clGetExtensionFunctionAddress = (void *)vendor->get_address;
	if (!clv_vendor_has_needed() || !make_writable(table, has_entry))
		return false;
	gated = *vendor;
	n_entries = n;
	atomic_store(&tables[0], table);
	atomic_store(&clv_vendor_table, table);
	put_wrappers(table, has_entry);
	return true;
}

/* All tables share clv_real, so another table must have the same functions.  Exceptions
 * are two that belong to the library, not the platform, and tables with a tag, whose
 * entries are not called. */
static bool is_same_call(void *const *table, size_t entry)
{
	void **real = clv_opencl_entry(&clv_real, entry);

	return !*real || *real == table[entry] || table[0] == ICD2_TAG ||
	       real == (void **)&clv_real.clGetPlatformIDs ||
	       real == (void **)&clv_real.clGetExtensionFunctionAddress;
}

static bool refuse_object(const char *what, const char *name)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&is_said))
		fprintf(stderr,
			"cleave: a call is refused: the driver has %s%s for some of its "
			"objects, on which this gate cannot enforce the lease\n",
			what, name);
	return false;
}

static bool gate_another_table(void **table, _Atomic(void **) *place)
{
	bool has_entry[CLV_OPENCL_N_ENTRIES];

	for (size_t i = 0; i < CLV_OPENCL_N_ENTRIES; i++) {
		has_entry[i] = is_entry(&gated, table, i, n_entries);
		if (has_entry[i] && !is_same_call(table, i))
			return refuse_object("another ", clv_opencl_name(i));
	}
	if (!make_writable(table, has_entry))
		return false;
	for (size_t i = 0; i < CLV_OPENCL_N_ENTRIES; i++) {
		if (has_entry[i] && !*clv_opencl_entry(&clv_real, i))
			*clv_opencl_entry(&clv_real, i) = table[i];
	}
	put_wrappers(table, has_entry);
	atomic_store(place, table);
	return true;
}

/* The table's place in `tables`, or the first free one.  NULL: there is none. */
static _Atomic(void **) *find_table(void **table)
{
	for (size_t i = 0; i < MAX_TABLES; i++) {
		void **known = atomic_load(&tables[i]);

		if (!known || known == table)
			return &tables[i];
	}
	return NULL;
}

void clv_vendors_forget_parent(void)
{
	pthread_mutex_init(&tables_lock, NULL);
}

bool clv_vendor_gate_object(const void *object)
{
	void **table = *(void **const *)object;
	_Atomic(void **) *place = find_table(table);
	bool is_taken;

	if (place && atomic_load(place))
		return true;
	pthread_mutex_lock(&tables_lock);
	place = find_table(table);
	if (!place)
		is_taken = refuse_object("a table of calls of its own", "");
	else
		is_taken = atomic_load(place) || gate_another_table(table, place);
	pthread_mutex_unlock(&tables_lock);
	return is_taken;
}
