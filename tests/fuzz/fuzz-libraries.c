/* SPDX-License-Identifier: Apache-2.0 */
/* The loader's cache of libraries. */
#include "fuzz.h"

#include "cli/launch/libraries.h"

static void read_path(void *userdata, const char *path)
{
	size_t *n_bytes = userdata;

	CLV_MUST(strlen(path) < *n_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	uint8_t *copy = malloc(n_bytes ? n_bytes : 1);

	CLV_MUST(copy);
	memcpy(copy, data, n_bytes);
	clv_libraries_of_cache(copy, n_bytes, "a.1", read_path, &n_bytes);
	free(copy);
	return 0;
}
