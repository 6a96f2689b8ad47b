/* SPDX-License-Identifier: Apache-2.0 */
/* Every way in which a program finds an entry point leads to the gate, and to the form of
 * it that the program means.  Says what does not.
 *
 * usage: cuda-names [each]; with "each" it says what is found for each name that it
 * reads, with each version and flag, by the symbol: that is the same with a gate and
 * without. */
#include "tenant.h"

#define GATE "libcleave-cuda.so"
#include "../gate/look-up.h"

#define INVALID_VALUE 1

/* By name, version and flags. */
static const struct {
	const char *name;
	int version;
	uint64_t flags;
	const char *symbol;
} rows[] = {
	{"cuMemAlloc", 3020, 0, "cuMemAlloc_v2"},
	{"cuMemAlloc", 13000, 0, "cuMemAlloc_v2"},
	{"cuLaunchKernel", 4000, 0, "cuLaunchKernel"},
	{"cuLaunchKernel", 12000, 0, "cuLaunchKernel"},
	{"cuLaunchKernel", 12000, 1, "cuLaunchKernel"},
	{"cuLaunchKernel", 12000, 2, "cuLaunchKernel_ptsz"},
	{"cuLaunchKernelEx", 12000, 2, "cuLaunchKernelEx_ptsz"},
	{"cuMemcpyHtoD", 12000, 0, "cuMemcpyHtoD_v2"},
	{"cuMemcpyHtoD", 12000, 2, "cuMemcpyHtoD_v2_ptds"},
	{"cuMemsetD32", 12000, 2, "cuMemsetD32_v2_ptds"},
	{"cuMemAllocAsync", 12000, 2, "cuMemAllocAsync_ptsz"},
	{"cuMemPrefetchAsync", 12000, 0, "cuMemPrefetchAsync"},
	{"cuMemPrefetchAsync", 12020, 0, "cuMemPrefetchAsync_v2"},
	{"cuGraphLaunch", 12000, 0, "cuGraphLaunch"},
	{"cuGraphInstantiate", 11000, 0, "cuGraphInstantiate_v2"},
	{"cuGraphInstantiate", 12000, 0, "cuGraphInstantiate_v2"},
	{"cuGraphInstantiateWithFlags", 12000, 0, "cuGraphInstantiateWithFlags"},
	{"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
	{"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
	{"cuStreamSynchronize", 12000, 2, "cuStreamSynchronize_ptsz"},
	{"cuMemGetInfo", 12000, 0, "cuMemGetInfo_v2"},
	{"cuStreamGetCtx", 12000, 0, "cuStreamGetCtx"},
	{"cuStreamGetCtx", 12050, 0, "cuStreamGetCtx_v2"},
	{"cuStreamGetCtx", 12050, 2, "cuStreamGetCtx_v2_ptsz"},
	{"cuCtxSynchronize", 12090, 0, "cuCtxSynchronize"},
	{"cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2"},
	{"cuCtxGetDevice", 13000, 0, NULL},
	{"cuEventDestroy", 2000, 0, "cuEventDestroy"},
	{"cuEventDestroy", 4000, 0, "cuEventDestroy_v2"},
	{"cuStreamQuery", 12000, 0, NULL},
	{"cuDriverGetVersion", 12000, 0, NULL},
	{"cuMemAlloc", 99010, 0, "cuMemAlloc_v2"},
	{"cuLaunchHostFunc", 13010, 0, "cuLaunchHostFunc"},
	{"cuLaunchHostFunc", 13020, 2, "cuLaunchHostFunc_v2_ptsz"},
	{"cuMemcpyWithAttributesAsync", 13020, 0, "cuMemcpyWithAttributesAsync"},
};

static void look_up_row(size_t i)
{
	void *function = NULL;
	int status = -1;

	if (cuGetProcAddress_v2(rows[i].name, &function, rows[i].version, rows[i].flags,
		    &status) != 0 ||
		status != 0)
		fail("cuGetProcAddress_v2", rows[i].name, "an error");
	check("cuGetProcAddress_v2", rows[i].name, function, rows[i].symbol);
	function = NULL;
	if (cuGetProcAddress(rows[i].name, &function, rows[i].version, rows[i].flags) !=
		0)
		fail("cuGetProcAddress", rows[i].name, "an error");
	check("cuGetProcAddress", rows[i].name, function, rows[i].symbol);
}

/* Drivers refuse the versions of later toolkits than their own. */
static void refuse_row(size_t i)
{
	void *function = NULL;
	int status = -1;

	if (cuGetProcAddress_v2(rows[i].name, &function, rows[i].version, rows[i].flags,
		    &status) != INVALID_VALUE ||
		cuGetProcAddress(rows[i].name, &function, rows[i].version,
			rows[i].flags) != INVALID_VALUE ||
		function)
		fail("a later version", rows[i].name, "an answer");
}

static void by_version(void)
{
	int driver = 0;

	OK(cuDriverGetVersion(&driver));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].version <= driver)
			look_up_row(i);
		else
			refuse_row(i);
	}
}

/* The driver has the function, and the gate does not know it. */
static void not_found(void *driver, const char *name)
{
	void *function = NULL;
	int status = -1;

	/* Without it the gate comes after libc, so its dlsym is not called. */
	if (getenv("LD_PRELOAD") && (dlsym(driver, name) || !dlerror()))
		fail("dlsym", name, "a function");
	if (getenv("LD_PRELOAD") && (dlsym(RTLD_DEFAULT, name) || dlsym(RTLD_NEXT, name)))
		fail("dlsym", name, "a function");
	if (cuGetProcAddress_v2(name, &function, 12090, 0, &status) != 0 || function ||
		status != 1)
		fail("cuGetProcAddress_v2", name, "a function");
	if (cuGetProcAddress(name, &function, 12090, 2) != 500 || function)
		fail("cuGetProcAddress", name, "a function");
}

static void by_symbol(void)
{
	static const char *const symbols[] = {"cuLaunchKernel", "cuLaunchKernel_ptsz",
		"cuMemAlloc_v2", "cuGraphLaunch", "cuMemcpyHtoDAsync_v2_ptsz",
		"cuGetProcAddress_v2"};
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		const char *name = symbols[i];

		check("dlsym", name, dlsym(driver, name), name);
		check("dlsym RTLD_DEFAULT", name, dlsym(RTLD_DEFAULT, name), name);
		check("dlsym RTLD_NEXT", name, dlsym(RTLD_NEXT, name), name);
	}
	check("dlsym", "cuDriverGetVersion", dlsym(driver, "cuDriverGetVersion"), NULL);
	check("linked", "cuMemAlloc_v2", (void *)(uintptr_t)cuMemAlloc_v2,
		"cuMemAlloc_v2");
	not_found(driver, "cuMemAllocLaterAsync");
	not_found(driver, "cuMemAllocLaterAsync_ptsz");
	if (dlsym(driver, "cuNoSuchThing") || !dlerror())
		fail("dlsym", "cuNoSuchThing", "something");
	if (!dlsym(RTLD_NEXT, "malloc") || !dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5"))
		fail("dlsym", "malloc", NULL);
	dlclose(driver);
}

/* The name of the symbol that was found, in any library. */
static const char *found_as(void *function)
{
	Dl_info info = {0};

	return function && dladdr(function, &info) && info.dli_sname ? info.dli_sname
								     : "-";
}

static void say_each_version(const char *name)
{
	static const int versions[] = {2000, 3000, 3010, 3020, 4000, 4010, 5000, 5050,
		6000, 6050, 7000, 7050, 8000, 9000, 9020, 10000, 10010, 10020, 11000,
		11010, 11020, 11030, 11040, 11050, 11060, 11070, 11080, 12000, 12010,
		12020, 12030, 12040, 12050, 12060, 12080, 12090, 13000, 13010, 13020,
		13030};

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		for (uint64_t flags = 0; flags <= 2; flags++) {
			void *function = NULL, *older = NULL;
			int status = -1;
			int r = cuGetProcAddress_v2(
				name, &function, versions[i], flags, &status);
			int r_older = cuGetProcAddress(name, &older, versions[i], flags);

			printf("%s %d %d: %d %d %s, %d %s\n", name, versions[i],
				(int)flags, r, status, found_as(function), r_older,
				found_as(older));
		}
	}
}

static int say_each_name(void)
{
	char name[128];

	while (scanf("%127s", name) == 1)
		say_each_version(name);
	return 0;
}

int main(int argc, char **argv)
{
	OK(cuInit(0));
	if (argc > 1)
		return say_each_name();
	by_version();
	by_symbol();
	printf("%d failed\n", n_failed);
	return n_failed > 0;
}
