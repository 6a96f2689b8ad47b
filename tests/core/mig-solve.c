/* SPDX-License-Identifier: Apache-2.0 */
/* The MIG rules and the search, for programs to ask: "mig-solve tables" prints the tables
 * as JSON; "mig-solve MODEL" answers one question a line on stdin, N_HAVE {PROFILE START
 * IN_USE KEPT} N_WISHES {PROFILE START|-1} with: result stay in_the_way options {FROM|-1
 * START} of each wish. */
#include "core/gpu/gpu.h"
#include "core/gpu/mig-plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_profile(const struct clv_mig_profile *p, const char *separator)
{
	printf("%s\n    {\"name\": \"%s\", \"driver_id\": %u, \"nvml_index\": %u, "
	       "\"slices\": %u, \"size\": %u, \"max_instances\": %u, "
	       "\"multiprocessors\": %u, \"memory_mib\": %u, \"attributes\": %u, "
	       "\"starts\": [",
		separator, p->name, p->driver_id, p->nvml_index, p->slices, p->size,
		p->max_instances, p->multiprocessors, p->memory_mib, p->attributes);
	for (int i = 0; i < p->n_starts; i++)
		printf("%s%u", i ? ", " : "", p->starts[i]);
	printf("], \"engines\": [%u, %u, %u, %u, %u]}", p->engines.copy,
		p->engines.decode, p->engines.encode, p->engines.jpeg,
		p->engines.optical_flow);
}

static void print_tables(void)
{
	const struct clv_mig_model *model;

	printf("[");
	for (size_t m = 0; (model = clv_mig_model_at(m)); m++) {
		printf("%s\n  {\"name\": \"%s\", \"grid\": %u, \"slices\": %u, "
		       "\"profiles\": [",
			m ? "," : "", model->name, model->grid, model->slices);
		for (size_t p = 0; p < model->n_profiles; p++)
			print_profile(&model->profiles[p], p ? "," : "");
		printf("]}");
	}
	printf("\n]\n");
}

static int next_number(char **text)
{
	return (int)strtol(*text, text, 10);
}

static size_t read_have(char **text, struct clv_mig_existing *have)
{
	size_t n = (size_t)next_number(text);

	for (size_t i = 0; i < n; i++) {
		have[i] = (struct clv_mig_existing){0};
		have[i].instance.profile = (uint8_t)next_number(text);
		have[i].instance.start = (uint8_t)next_number(text);
		have[i].in_use = next_number(text) != 0;
		have[i].is_kept = next_number(text) != 0;
	}
	return n;
}

static size_t read_wishes(char **text, struct clv_mig_wanted *wishes)
{
	size_t n = (size_t)next_number(text);

	for (size_t i = 0; i < n; i++) {
		wishes[i].profile = (uint8_t)next_number(text);
		wishes[i].start = (uint8_t)next_number(text); /* -1: anywhere */
	}
	return n;
}

static void answer_line(const struct clv_mig_model *model, char *text)
{
	struct clv_mig_existing have[CLV_MIG_INSTANCES_MAX];
	struct clv_mig_wanted wishes[CLV_MIG_INSTANCES_MAX];
	struct clv_mig_solution answer = {0};
	size_t n_have = read_have(&text, have);
	size_t n_wishes = read_wishes(&text, wishes);
	int r = clv_mig_solve(model, have, n_have, wishes, n_wishes, &answer);

	printf("%d %u %u %u", r, answer.stay, answer.in_the_way, answer.options);
	for (size_t i = 0; i < n_wishes; i++)
		printf(" %d %u", answer.from[i] == CLV_MIG_NEW ? -1 : (int)answer.from[i],
			answer.starts[i]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	const struct clv_mig_model *model;
	char line[1024];

	if (argc == 2 && strcmp(argv[1], "tables") == 0) {
		print_tables();
		return 0;
	}
	model = argc == 2 ? clv_mig_model_find(argv[1]) : NULL;
	if (!model)
		return 64;
	while (fgets(line, sizeof(line), stdin))
		answer_line(model, line);
	return 0;
}
