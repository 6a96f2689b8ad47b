/* SPDX-License-Identifier: Apache-2.0 */
/* Every way in which a program looks up a function of HIP or HSA leads to the gate, and
 * to the variant that the program asks for. Prints those that do not.
 *
 * usage: hip-names [unset] */
#include "tenant.h"

#define GATE "libcleave-hip.so"
#include "../gate/look-up.h"

static int is_preloaded;

static const struct {
	const char *name, *version;
	int is_gates;
} names[] = {
	{"hipLaunchKernel", "hip_4.2", 1},
	{"hipLaunchKernel_spt", "hip_5.2", 1},
	{"hipModuleLaunchKernel", "hip_4.2", 1},
	{"hipGraphLaunch", "hip_4.3", 1},
	{"hipMemGetInfo", "hip_4.2", 1},
	{"hipGraphAddHostNode", "hip_4.5", 1},
	{"hipMalloc", "hip_4.2", 0},
	{"hipGetErrorString", "hip_4.2", 0},
	{"hsa_init", "ROCR_1", 1},
	{"hsa_queue_create", "ROCR_1", 1},
	{"hsa_amd_memory_pool_allocate", "ROCR_1", 1},
	{"hsa_status_string", "ROCR_1", 0},
};

static void look_up(void *where, const char *how)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *name = names[i].name;
		const char *symbol = names[i].is_gates ? name : NULL;

		check(how, name, dlsym(where, name), symbol);
		if (is_preloaded)
			check(how, name, dlvsym(where, name, names[i].version), symbol);
	}
}

#if ROCM >= 6
int hipGetProcAddress(
	const char *name, void **function, int version, uint64_t flags, int *status);

static const struct {
	const char *name;
	int version;
	uint64_t flags;
	const char *symbol;
} rows[] = {
	{"hipLaunchKernel", 602, 0, "hipLaunchKernel"},
	{"hipLaunchKernel", 602, 2, "hipLaunchKernel_spt"},
	{"hipMemcpyAsync", 602, 2, "hipMemcpyAsync_spt"},
	{"hipModuleLaunchKernel", 602, 2, "hipModuleLaunchKernel"},
	{"hipGetDeviceProperties", 502, 0, "hipGetDeviceProperties"},
	{"hipGetDeviceProperties", 602, 0, "hipGetDevicePropertiesR0600"},
	{"hipGetProcAddress", 602, 0, "hipGetProcAddress"},
	{"hipMalloc", 602, 0, NULL},
};

static void ask(void)
{
	int status;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *function = NULL;

		OK(hipGetProcAddress(rows[i].name, &function, rows[i].version,
			rows[i].flags, &status));
		check("hipGetProcAddress", rows[i].name, function, rows[i].symbol);
	}
}
#endif

/* The libraries have these functions, and the gate does not know them. */
static void not_found(void)
{
	static const char *const newer[] = {
		"hipMemcpyLater", "hsa_amd_memory_pool_allocate_later"};

	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++) {
		if (dlsym(RTLD_DEFAULT, newer[i]))
			fail("a look-up", newer[i], "a function");
	}
#if ROCM >= 6
	{
		void *function = NULL;
		int status = 0;

		if (!hipGetProcAddress(newer[0], &function, 602, 0, &status) ||
			function || status != 1)
			fail("hipGetProcAddress", newer[0], "a function");
	}
#endif
}

int main(int argc, char **argv)
{
	static const char *const sonames[] = {
		ROCM >= 6 ? "libamdhip64.so.6" : "libamdhip64.so.5",
		"libhsa-runtime64.so.1"};
	void *function = NULL;

	is_preloaded = argc == 1;
	OK(hipInit(0));
	look_up(RTLD_DEFAULT, "a look-up in all");
	look_up(RTLD_NEXT, "a look-up in the rest");
	look_up(dlopen(sonames[0], RTLD_LAZY), "a look-up in HIP");
	function = dlsym(dlopen(sonames[1], RTLD_LAZY), "hsa_init");
	check("a look-up in HSA", "hsa_init", function, "hsa_init");
	if (is_preloaded)
		not_found();
#if ROCM >= 6
	ask();
#else
	if (is_preloaded && dlsym(RTLD_DEFAULT, "hipLaunchKernelExC"))
		fail("a look-up", "hipLaunchKernelExC", "which ROCm 5 has not");
#endif
	printf("%d failed\n", n_failed);
	return 0;
}
