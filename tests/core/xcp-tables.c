/* SPDX-License-Identifier: Apache-2.0 */
/* Prints AMD's rules as core has them, as JSON, for xcp.py to compare. */
#include "core/gpu/gpu.h"
#include "core/gpu/xcp.h"

#include <stdio.h>

static void print_memories(uint32_t bits)
{
	const char *separator = "";

	putchar('[');
	for (uint32_t bit = 1; bit; bit <<= 1) {
		if (!(bits & bit))
			continue;
		printf("%s\"%s\"", separator, clv_memory_mode_to_string(bit));
		separator = ", ";
	}
	putchar(']');
}

static void print_mode(const struct clv_xcp_model *model, enum clv_compute_mode mode)
{
	uint32_t taken = 0;

	for (uint32_t bit = 1; bit <= CLV_NPS8; bit <<= 1) {
		if (clv_xcp_check(model, mode, bit, NULL) == 0)
			taken |= bit;
	}
	printf("\"%s\": {\"devices\": %u, \"driver\": ", clv_compute_mode_to_string(mode),
		clv_xcp_devices(mode, model->dies));
	print_memories(clv_xcp_memory_modes(mode, model->dies));
	printf(", \"taken\": ");
	print_memories(taken);
	printf(", \"validated\": ");
	print_memories(model->validated[mode]);
	putchar('}');
}

/* What the driver starts in, by memory mode; null: nothing. */
static void print_first(const struct clv_xcp_model *model)
{
	for (uint32_t bit = 1; bit <= CLV_NPS8; bit <<= 1) {
		enum clv_compute_mode first = clv_xcp_first_mode(model->dies, bit);

		printf("%s\"%s\": ", bit > 1 ? ", " : "", clv_memory_mode_to_string(bit));
		if (first == _CLV_COMPUTE_MODE_INVALID)
			printf("null");
		else
			printf("\"%s\"", clv_compute_mode_to_string(first));
	}
}

int main(void)
{
	const struct clv_xcp_model *model;

	printf("{");
	for (size_t i = 0; (model = clv_xcp_model_at(i)); i++) {
		printf("%s\n\"%s\": {\"xcds\": %u, \"xcds_per_iod\": %u, \"active_cu\": "
		       "%u, "
		       "\"vram_gb\": %llu, \"first\": {",
			i ? "," : "", model->name, model->dies, model->per_io_die,
			model->compute_units, (unsigned long long)model->memory_gb);
		print_first(model);
		printf("}, \"modes\": {");
		for (int mode = 0; mode < _CLV_COMPUTE_MODE_MAX; mode++) {
			if (mode)
				printf(", ");
			print_mode(model, mode);
		}
		printf("}}");
	}
	printf("\n}\n");
	return 0;
}
