/* SPDX-License-Identifier: Apache-2.0 */
#include "exports.h"
#include "internal.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Tools: libraries that get the runtime's table of functions and may replace them.  They
 * are named by HSA_TOOLS_LIB, or loaded already and have HSA_AMD_TOOL_PRIORITY.  Source:
 * Runtime::LoadTools of ROCr, hsa_api_trace.h. */

struct version {
	uint32_t major, minor, step, reserved;
};

/* Its functions up to the one that allocates; the others are missing here. */
static struct {
	struct version version;
	void *others[13];
	int (*allocate)(hsa_pool pool, size_t bytes, uint32_t flags, void **ret);
} amd_table = {.version = {2, sizeof(amd_table), 0, 0},
	.allocate = dhs_hsa_amd_memory_pool_allocate};

static struct {
	struct version version;
	void *core, *amd, *finalizer, *image;
} table = {.version = {2, sizeof(table), 0, 0}, .amd = &amd_table};

static void load(void *library)
{
	bool (*on_load)(void *table, uint64_t version, uint64_t n_failed,
		const char *const *failed) = NULL;

	*(void **)&on_load = dlsym(library, "OnLoad");
	if (on_load)
		on_load(&table, table.version.major, 0, NULL);
}

void dhs_tools_load(void)
{
	char names[4096] = "", *rest = names, *name;
	const char *said = getenv("HSA_TOOLS_LIB");

	if (dlsym(RTLD_DEFAULT, "HSA_AMD_TOOL_PRIORITY"))
		load(RTLD_DEFAULT);
	if (said && strlen(said) < sizeof(names))
		strcpy(names, said);
	while ((name = strsep(&rest, " "))) {
		void *library = *name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;

		if (library)
			load(library);
	}
}
