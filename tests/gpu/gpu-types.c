/* SPDX-License-Identifier: Apache-2.0 */
/* What src/backend/nvidia knows of GPUs by name, for programs to query: the answer to
 * each line of stdin, ARCHITECTURE BYTES NAME, is a line of JSON. */
#include "backend/nvidia/gpu-types.h"
#include "core/gpu/mig.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void answer(const char *name, uint32_t architecture, uint64_t memory_bytes)
{
	const struct clv_mig_model *model = clv_nvidia_type_find(name, memory_bytes);

	printf("{\"table\": \"%s\", \"is_ampere\": %s, \"is_ampere_by_name\": %s, "
	       "\"cores\": %u}\n",
		model ? model->name : "",
		clv_nvidia_type_is_ampere(name, architecture) ? "true" : "false",
		clv_nvidia_type_is_ampere(name, 0) ? "true" : "false",
		clv_nvidia_type_cores(name, architecture));
}

int main(void)
{
	char line[512];

	while (fgets(line, sizeof(line), stdin)) {
		uint32_t architecture;
		uint64_t memory_bytes;
		int at = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNu32 " %" SCNu64 " %n", &architecture,
			    &memory_bytes, &at) != 2 ||
			at == 0)
			return 64;
		answer(line + at, architecture, memory_bytes);
	}
	return 0;
}
