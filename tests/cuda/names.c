/* SPDX-License-Identifier: Apache-2.0 */
/* Every way in which a program looks up an entry point leads to the gate, and to the
 * version that the program asks for. Prints those that do not. */
#include "tenant.h"

#include <dlfcn.h>
#include <string.h>

int cuDriverGetVersion(int *version);
int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);
int cuGetProcAddress_v2(
	const char *name, void **function, int version, uint64_t flags, int *status);

static int n_failed;

static void fail(const char *how, const char *name, const char *found)
{
	printf("%s of %s: %s\n", how, name, found ? found : "nothing");
	n_failed++;
}

/* symbol: the gate's function that must be found; NULL: none of the gate's. */
static void check(const char *how, const char *name, void *function, const char *symbol)
{
	Dl_info info = {0};

	if (!function || !dladdr(function, &info) || !info.dli_sname) {
		fail(how, name, function ? "an address of no name" : NULL);
		return;
	}
	if (!symbol) {
		if (strstr(info.dli_fname, "libcleave"))
			fail(how, name, info.dli_sname);
		return;
	}
	if (!strstr(info.dli_fname, "libcleave-cuda.so") ||
		strcmp(info.dli_sname, symbol) != 0)
		fail(how, name, info.dli_sname);
}

/* By name, version and flags. */
static const struct {
	const char *name;
	int version;
	uint64_t flags;
	const char *symbol;
	const char *before; /* the symbol in a driver older than the version */
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
	{"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
	{"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
	{"cuStreamSynchronize", 12000, 2, "cuStreamSynchronize_ptsz"},
	{"cuMemGetInfo", 12000, 0, "cuMemGetInfo_v2"},
	{"cuStreamGetCtx", 12000, 0, "cuStreamGetCtx"},
	{"cuStreamGetCtx", 12050, 0, "cuStreamGetCtx_v2"},
	{"cuStreamGetCtx", 12050, 2, "cuStreamGetCtx_v2_ptsz"},
	{"cuCtxSynchronize", 12090, 0, "cuCtxSynchronize"},
	{"cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2", "cuCtxSynchronize"},
	{"cuCtxGetDevice", 13000, 0, NULL},
	{"cuEventDestroy", 2000, 0, "cuEventDestroy"},
	{"cuEventDestroy", 4000, 0, "cuEventDestroy_v2"},
	{"cuStreamQuery", 12000, 0, NULL},
	{"cuDriverGetVersion", 12000, 0, NULL},
};

static const char *symbol_of(size_t row)
{
	int driver = 0;

	OK(cuDriverGetVersion(&driver));
	return rows[row].before && driver < rows[row].version ? rows[row].before
							      : rows[row].symbol;
}

static void by_version(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *function = NULL;
		int status = -1;

		if (cuGetProcAddress_v2(rows[i].name, &function, rows[i].version,
			    rows[i].flags, &status) != 0 ||
			status != 0)
			fail("cuGetProcAddress_v2", rows[i].name, "an error");
		check("cuGetProcAddress_v2", rows[i].name, function, symbol_of(i));
		function = NULL;
		if (cuGetProcAddress(
			    rows[i].name, &function, rows[i].version, rows[i].flags) != 0)
			fail("cuGetProcAddress", rows[i].name, "an error");
		check("cuGetProcAddress", rows[i].name, function, symbol_of(i));
	}
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
	if (dlsym(driver, "cuNoSuchThing") || !dlerror())
		fail("dlsym", "cuNoSuchThing", "something");
	if (!dlsym(RTLD_NEXT, "malloc") || !dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5"))
		fail("dlsym", "malloc", NULL);
	dlclose(driver);
}

/* The gate does not know, and does not return, what a later toolkit means by a name. */
static void by_later_version(void)
{
	void *function = (void *)1;
	int status = -1;

	OK(cuGetProcAddress_v2("cuMemAlloc", &function, 99000, 0, &status));
	check("cuGetProcAddress_v2 of a later version", "cuMemAlloc", function,
		"cuMemAlloc_v2");
}

int main(void)
{
	OK(cuInit(0));
	by_version();
	by_symbol();
	by_later_version();
	printf("%d failed\n", n_failed);
	return n_failed > 0;
}
