/* SPDX-License-Identifier: Apache-2.0 */
/* A tool of HSA's: it keeps the table that it gets. */
#include <stdbool.h>
#include <stdint.h>

const uint32_t HSA_AMD_TOOL_PRIORITY = 1000;
void *tool_table;

bool OnLoad(void *table, uint64_t version, uint64_t n_failed, const char *const *failed);

bool OnLoad(void *table, uint64_t version, uint64_t n_failed, const char *const *failed)
{
	(void)version;
	(void)n_failed;
	(void)failed;
	tool_table = table;
	return true;
}
