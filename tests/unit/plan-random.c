/* SPDX-License-Identifier: Apache-2.0 */
#include "plan-random.h"

#include "base/cleanup.h"
#include "core/gpu/gpu.h"
#include "core/gpu/mig.h"
#include "core/gpu/xcp.h"

#include <stdlib.h>
#include <string.h>

#define PLACES_MAX 64
#define PROCESSORS 16u

static uint64_t state;

void random_seed(uint64_t seed)
{
	state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

uint32_t random_below(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) % limit);
}

bool random_chance(uint32_t percent)
{
	return random_below(100) < percent;
}

static void write_holders(FILE *to, uint32_t device, uint32_t percent)
{
	if (!random_chance(percent))
		return;
	fprintf(to, "!%c%u", 'a' + (int)random_below(6), device);
	if (random_chance(15))
		fprintf(to, ",%c%u", 'a' + (int)random_below(6), device);
}

/* Every place of the model in a random order. */
static size_t shuffle_places(
	const struct clv_mig_model *model, struct clv_mig_instance ret[PLACES_MAX])
{
	size_t n = 0;

	for (uint8_t p = 0; p < model->n_profiles; p++) {
		for (uint8_t s = 0; s < model->profiles[p].n_starts; s++)
			ret[n++] = (struct clv_mig_instance){
				p, model->profiles[p].starts[s]};
	}
	for (size_t i = n; i > 1; i--) {
		size_t k = random_below((uint32_t)i);
		struct clv_mig_instance other = ret[i - 1];

		ret[i - 1] = ret[k];
		ret[k] = other;
	}
	return n;
}

/* Some that can exist together, each with a probability in per cent. */
static size_t choose_set(const struct clv_mig_model *model, uint32_t percent,
	struct clv_mig_instance ret[PLACES_MAX])
{
	struct clv_mig_instance places[PLACES_MAX];
	size_t n_places = shuffle_places(model, places), n = 0;
	struct clv_mig_set set = {0};

	for (size_t i = 0; i < n_places; i++) {
		if (random_chance(percent) &&
			clv_mig_set_add(model, &set, places[i]) == CLV_MIG_NO_OBSTACLE)
			ret[n++] = places[i];
	}
	return n;
}

static void write_parts(FILE *to, uint32_t device, const struct clv_mig_model *model)
{
	struct clv_mig_instance parts[PLACES_MAX];
	size_t n = choose_set(model, 70, parts);

	/* A part that fills its instance is not listed. */
	if (n == 0 || model->profiles[parts[0].profile].slices == model->slices)
		return;
	for (size_t i = 0; i < n; i++) {
		fprintf(to, "%s%s@%u", i ? "+" : "(",
			model->profiles[parts[i].profile].name, parts[i].start);
		write_holders(to, device, 35);
	}
	fputc(')', to);
}

static void write_instance(
	FILE *to, uint32_t device, const struct clv_mig_profile *profile, uint8_t start)
{
	const struct clv_mig_model *parts = clv_mig_model_of_parts(profile->slices);

	fprintf(to, " %s@%u", profile->name, start);
	if (random_chance(8)) {
		fputc('~', to);
		return;
	}
	if (parts && parts->slices > 1 && random_chance(45)) {
		write_holders(to, device, 8);
		write_parts(to, device, parts);
	} else {
		write_holders(to, device, 40);
	}
}

void random_mig(FILE *to, uint32_t device, const char *name)
{
	const struct clv_mig_model *model = clv_mig_model_find(name);
	struct clv_mig_instance set[PLACES_MAX];
	size_t n;

	fprintf(to, "%s%s", name, random_chance(50) ? " reset" : "");
	if (random_chance(10)) {
		fputc(' ', to);
		write_holders(to, device, 30);
		fputc('\n', to);
		return;
	}
	fputs(" on", to);
	n = choose_set(model, 30 + random_below(60), set);
	for (size_t i = 0; i < n; i++)
		write_instance(
			to, device, &model->profiles[set[i].profile], set[i].start);
	fputc('\n', to);
}

static void random_amd(FILE *to, uint32_t device)
{
	static const char *const modes[] = {"SPX/NPS1", "DPX/NPS1", "DPX/NPS2",
		"QPX/NPS1", "QPX/NPS4", "CPX/NPS1", "CPX/NPS4"};
	const char *mode = modes[random_below(CLV_ARRAY_SIZE(modes))];

	fprintf(to, "MI300X %s hive=h%u", mode, random_below(3));
	if (random_chance(15) && mode[0] != 'S') {
		fprintf(to, " #%u", random_below(2));
		write_holders(to, device, 100);
	}
	if (random_chance(10)) {
		fputc(' ', to);
		write_holders(to, device, 100);
	}
	fputc('\n', to);
}

static void random_vf(FILE *to, uint32_t device)
{
	uint32_t n = random_below(6);

	fprintf(to, "VF total=%u memory=16G", 4 + random_below(5));
	if (random_chance(30))
		fputs(" counts=1,2,4", to);
	if (n > 0 && n <= 4)
		fprintf(to, " vf=%u each=%uG", n, 1 + random_below(4));
	if (n > 0 && n <= 4 && random_chance(30)) {
		fprintf(to, " #%u", 1 + random_below(n));
		write_holders(to, device, 100);
	}
	fputc('\n', to);
}

/* Sets of any processors, also non-consecutive ones. */
static void random_cpu(FILE *to, uint32_t device)
{
	uint8_t order[PROCESSORS];
	uint32_t used = 0;

	for (uint8_t i = 0; i < PROCESSORS; i++)
		order[i] = i;
	for (uint32_t i = PROCESSORS; i > 1 && random_chance(90); i--) {
		uint32_t k = random_below(i);
		uint8_t other = order[i - 1];

		order[i - 1] = order[k];
		order[k] = other;
	}
	fprintf(to, "CPU cores=%u", PROCESSORS);
	while (used < PROCESSORS && random_chance(75)) {
		uint32_t size = 1 + random_below(4), lowest = PROCESSORS;

		if (used + size > PROCESSORS)
			break;
		for (uint32_t i = 0; i < size; i++)
			lowest = order[used + i] < lowest ? order[used + i] : lowest;
		fprintf(to, " cores:%u@%u=", size, lowest);
		for (uint32_t i = 0; i < size; i++)
			fprintf(to, "%s%u", i ? "," : "", order[used + i]);
		write_holders(to, device, 30);
		used += size;
	}
	fputc('\n', to);
}

void random_device(FILE *to, uint32_t device)
{
	static const char *const models[] = {
		"A100-40GB", "A30-24GB", "H100-80GB", "RTX-PRO-6000-Blackwell-96GB"};
	uint32_t kind = random_below(10);

	if (kind < 5)
		random_mig(to, device, models[random_below(CLV_ARRAY_SIZE(models))]);
	else if (kind < 7)
		random_amd(to, device);
	else if (kind == 7)
		random_vf(to, device);
	else if (kind == 8)
		random_cpu(to, device);
	else
		fputs("T4\n", to);
}

/* --- Rules --- */

static void write_wished_parts(FILE *to, const struct clv_mig_model *model)
{
	struct clv_mig_instance parts[PLACES_MAX];
	size_t n = choose_set(model, 70, parts);

	for (size_t i = 0; i < n; i++) {
		fprintf(to, "%s%s", i ? ", " : ", parts: [",
			model->profiles[parts[i].profile].name);
		if (random_chance(20))
			fprintf(to, "@%u", parts[i].start);
	}
	fputs(n ? "]" : "", to);
}

static void write_wish(FILE *to, const struct clv_mig_profile *profile, uint8_t start)
{
	const struct clv_mig_model *parts = clv_mig_model_of_parts(profile->slices);

	fprintf(to, "{profile: %s", profile->name);
	if (random_chance(15))
		fprintf(to, ", start: %u", start);
	if (parts && parts->slices > 1 && random_chance(40))
		write_wished_parts(to, parts);
	fputc('}', to);
}

/* Mostly wishes that fit; sometimes arbitrary ones. */
static void write_wishes(FILE *to, const struct clv_mig_model *model, uint32_t n_most)
{
	struct clv_mig_instance set[PLACES_MAX];
	bool is_wild = random_chance(15);
	size_t n = is_wild ? shuffle_places(model, set)
			   : choose_set(model, 20 + random_below(80), set);

	if (n > n_most)
		n = n_most;
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", to);
		write_wish(to, &model->profiles[set[i].profile], set[i].start);
	}
}

void random_mig_rule(FILE *to, uint32_t device, const char *name, uint32_t n_most)
{
	fprintf(to, "- {select: {name: gpu%u}", device);
	if (random_chance(8)) {
		fputs(", mig: off}\n", to);
		return;
	}
	if (random_chance(40))
		fputs(", mig: on", to);
	if (random_chance(92)) {
		fputs(", partitions: [", to);
		write_wishes(to, clv_mig_model_find(name), n_most);
		fputs("]", to);
	}
	fputs("}\n", to);
}

static void random_amd_rule(FILE *to, uint32_t device)
{
	static const char *const computes[] = {"SPX", "DPX", "QPX", "CPX"};
	static const char *const memories[] = {"NPS1", "NPS2", "NPS4"};

	fprintf(to, "- {select: {name: gpu%u}", device);
	if (random_chance(10)) {
		fputs(", partitions: []}\n", to);
		return;
	}
	if (random_chance(80))
		fprintf(to, ", compute-mode: %s", computes[random_below(4)]);
	if (random_chance(50))
		fprintf(to, ", memory-mode: %s", memories[random_below(3)]);
	fputs("}\n", to);
}

static void random_vf_rule(FILE *to, uint32_t device)
{
	fprintf(to, "- {select: {name: gpu%u}, vf: {count: %u", device, random_below(6));
	if (random_chance(50))
		fprintf(to, ", memory: %uG", 1 + random_below(4));
	fputs("}}\n", to);
}

static void random_cpu_rule(FILE *to, uint32_t device)
{
	fprintf(to, "- {select: {name: gpu%u}, preserve: %s, partitions: [", device,
		random_chance(15) ? "yes" : "no");
	for (uint32_t i = 0; i < 4 && random_chance(80); i++) {
		fprintf(to, "%s{profile: \"cores:%u\"", i ? ", " : "",
			1 + random_below(4));
		if (random_chance(30))
			fprintf(to, ", start: %u", random_below(PROCESSORS));
		else
			fprintf(to, ", count: %u", 1 + random_below(2));
		fputc('}', to);
	}
	fputs("]}\n", to);
}

void random_rule(FILE *to, const char *node_line, uint32_t device)
{
	char model[64] = "";

	sscanf(node_line, "%63s", model);
	if (random_chance(15))
		return;
	if (clv_mig_model_find(model))
		random_mig_rule(to, device, model, 12);
	else if (clv_xcp_model_find(model))
		random_amd_rule(to, device);
	else if (strcmp(model, "VF") == 0)
		random_vf_rule(to, device);
	else if (strcmp(model, "CPU") == 0)
		random_cpu_rule(to, device);
	else
		fprintf(to, "- {select: {name: gpu%u}, shares: %u}\n", device,
			1 + random_below(4));
}
