/* SPDX-License-Identifier: Apache-2.0 */
/* A vendor's library, as far as a loader looks at it: one platform.  With ICD2 it is one
 * of cl_khr_icd 2.0.0, whose table begins with a tag and is used through the loader's
 * own. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct platform {
	const void *const *table;
	void *data;
};

static const void *const table[] = {
#ifdef ICD2
	(const void *)0x4F50454E434C3331, /* CL_ICD2_TAG_KHR */
#else
	NULL,
#endif
};
static struct platform platform = {.table = table};

static int get_platforms(unsigned room, struct platform **ret, unsigned *ret_n)
{
	if (ret && room > 0)
		ret[0] = &platform;
	if (ret_n)
		*ret_n = 1;
	return 0;
}

#ifdef ICD2
static void *get_function(struct platform *of, const char *name)
{
	return of == &platform && strcmp(name, "clFinish") == 0 ? (void *)&platform
								: NULL;
}

static int set_data(struct platform *of, void *data)
{
	if (of != &platform)
		return -32; /* CL_INVALID_PLATFORM */
	platform.data = data;
	return 0;
}
#endif

EXPORT void *clGetExtensionFunctionAddress(const char *name);

void *clGetExtensionFunctionAddress(const char *name)
{
	if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
		return (void *)(uintptr_t)get_platforms;
#ifdef ICD2
	if (strcmp(name, "clIcdGetFunctionAddressForPlatformKHR") == 0)
		return (void *)(uintptr_t)get_function;
	if (strcmp(name, "clIcdSetPlatformDispatchDataKHR") == 0)
		return (void *)(uintptr_t)set_data;
#endif
	return NULL;
}
