/* SPDX-License-Identifier: Apache-2.0 */
#include "../../gpu/client/faults.h"
#include "exports.h"
#include "internal.h"
#include <string.h>

/* The start and the end of the runtime, and its properties. */

static _Atomic int references;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Functions that work before hsa_init and after its end. */
static bool is_anytime(const char *name)
{
	return strcmp(name, "hsa_init") == 0 || strcmp(name, "hsa_status_string") == 0;
}

int dhs_begin(const char *name, bool unused)
{
	if (!is_anytime(name) && (!references || dgp_forked))
		return HSA_NOT_INITIALIZED;
	return dgp_fault_due(name);
}

int dhs_missing(const char *name)
{
	return HSA_ERROR;
}

int dhs_hsa_init(void)
{
	int r = 0;

	if (dgp_forked)
		return HSA_OUT_OF_RESOURCES;
	pthread_mutex_lock(&lock);
	if (!dgp_connected) {
		r = dgp_connect() ? HSA_OUT_OF_RESOURCES : 0;
		if (!r)
			dhs_agents_find();
		if (!r)
			dhs_tools_load();
	}
	if (!r)
		references++;
	pthread_mutex_unlock(&lock);
	return r;
}

/* After the last reference the objects stay until the process ends, because other threads
 * may still use them. */
int dhs_hsa_shut_down(void)
{
	references--;
	return 0;
}

static const struct {
	int status;
	const char *text;
} texts[] = {
	{HSA_OK, "HSA_STATUS_SUCCESS: The function has been executed successfully."},
	{HSA_ERROR, "HSA_STATUS_ERROR: A generic error has occurred."},
	{HSA_INVALID_ARGUMENT,
		"HSA_STATUS_ERROR_INVALID_ARGUMENT: One of the actual arguments does "
		"not meet a precondition."},
	{HSA_OUT_OF_RESOURCES,
		"HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate "
		"the necessary resources."},
	{HSA_NOT_INITIALIZED,
		"HSA_STATUS_ERROR_NOT_INITIALIZED: An API other than hsa_init has "
		"been invoked while the reference count is 0."},
};

int dhs_hsa_status_string(int status, const char **ret)
{
	if (!ret)
		return HSA_INVALID_ARGUMENT;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].status != status)
			continue;
		*ret = texts[i].text;
		return 0;
	}
	*ret = "HSA_STATUS_ERROR";
	return status & 0x1000 || status == HSA_CU_MASK_REDUCED ? 0
								: HSA_INVALID_ARGUMENT;
}
