/* SPDX-License-Identifier: Apache-2.0 */
#include "node.h"
#include "functions.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses `node`. Its words are in the two tables. */

static const char *const driver_version = DNV_DRIVER < 470   ? "450.248.02"
					  : DNV_DRIVER < 580 ? "470.256.02"
					  : DNV_DRIVER < 615 ? "580.82.07"
							     : "615.71.09";

static uint64_t hash(const char *text, uint64_t h)
{
	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3ULL;
	h ^= h >> 29;
	return h * 0xbf58476d1ce4e5b9ULL;
}

void dnv_uuid_of(const char *text, char ret[37])
{
	uint64_t a = hash(text, 0xcbf29ce484222325ULL), b = hash(text, a);

	/* Version 5, because the real ones are also derived from names. */
	snprintf(ret, 37, "%08x-%04x-5%03x-%04x-%012llx", (unsigned)(a >> 32),
		(unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff),
		(unsigned)(b >> 48 & 0x3fff) | 0x8000U,
		(unsigned long long)(b & 0xffffffffffffULL));
}

static void set_defaults(struct dnv_gpu *gpu, uint32_t index)
{
	char seed[64], uuid[37];

	snprintf(seed, sizeof(seed), "%s %u", gpu->model->type, index);
	dnv_uuid_of(seed, uuid);
	snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-%s", uuid);
	gpu->bus = 7 + 8 * index;
	gpu->minor = index;
}

static bool read_uuid(struct dnv_gpu *gpu, const char *value)
{
	int n = snprintf(gpu->uuid, sizeof(gpu->uuid), "%s", value);

	return n < (int)sizeof(gpu->uuid) && strncmp(value, "GPU-", 4) == 0;
}

static bool read_pci(struct dnv_gpu *gpu, const char *value)
{
	int end = 0;

	return sscanf(value, "%x:%x:%x.0%n", &gpu->domain, &gpu->bus, &gpu->device,
		       &end) == 3 &&
	       end && !value[end];
}

static bool read_minor(struct dnv_gpu *gpu, const char *value)
{
	uint64_t number;

	if (strcmp(value, "moves") == 0) {
		gpu->minor_moves = true;
		return true;
	}
	if (!dnv_text_number(value, UINT64_MAX, 255, &number))
		return false;
	gpu->minor = (uint32_t)number;
	return true;
}

/* A word with the member that it sets, and the value. */
static const struct option {
	const char *word;
	size_t offset;
	int value;
	bool is_bool;
} options[] = {
#define ENUM(word, member, value)                                    \
	{                                                            \
		word, offsetof(struct dnv_gpu, member), value, false \
	}
#define BOOL(word, member)                                         \
	{                                                          \
		word, offsetof(struct dnv_gpu, member), true, true \
	}
	ENUM("ids=free", ids, DNV_IDS_FREE),
	ENUM("ids=tree", ids, DNV_IDS_TREE),
	ENUM("ids=swapped", ids, DNV_IDS_SWAPPED),
	ENUM("reset=done", reset, DNV_RESET_DONE),
	ENUM("reset=required", reset, DNV_RESET_REQUIRED_BY),
	ENUM("reset=impossible", reset, DNV_RESET_IMPOSSIBLE),
	ENUM("vgpu=passthrough", vgpu, DNV_VGPU_PASSTHROUGH),
	ENUM("vgpu=guest", vgpu, DNV_VGPU_GUEST),
	ENUM("vgpu=host", vgpu, DNV_VGPU_HOST),
	BOOL("sriov", sriov),
	BOOL("mig=on", starts_with_mig),
	BOOL("list=packed", packed),
	BOOL("profiles=in-mig", profiles_only_in_mig),
#undef ENUM
#undef BOOL
};

static bool read_option(struct dnv_gpu *gpu, const char *word)
{
	if (strncmp(word, "uuid=", 5) == 0)
		return read_uuid(gpu, word + 5);
	if (strncmp(word, "pci=", 4) == 0)
		return read_pci(gpu, word + 4);
	if (strncmp(word, "minor=", 6) == 0)
		return read_minor(gpu, word + 6);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		void *member = (char *)gpu + options[i].offset;

		if (strcmp(options[i].word, word) != 0)
			continue;
		if (options[i].is_bool)
			*(bool *)member = true;
		else
			memcpy(member, &options[i].value, sizeof(options[i].value));
		return true;
	}
	return false;
}

/* Values of a GPU of this node that replace its type's table. Not in a struct that may be
 * copied, because the model points to the profiles. */
static struct {
	struct dnv_model model;
	struct dnv_gi_profile profiles[DNV_PROFILES_MAX];
} altered[DNV_GPUS_MAX];

static struct dnv_gi_profile *alter(struct dnv_gpu *gpu, uint64_t index, const char *name)
{
	const struct dnv_model *model = gpu->model;

	if (model != &altered[index].model) {
		memcpy(altered[index].profiles, model->profiles,
			model->n_profiles * sizeof(*model->profiles));
		altered[index].model = *model;
		altered[index].model.profiles = altered[index].profiles;
		gpu->model = &altered[index].model;
	}
	for (size_t i = 0; i < model->n_profiles; i++)
		if (strcmp(altered[index].profiles[i].name, name) == 0)
			return &altered[index].profiles[i];
	return NULL;
}

/* "0,2,4" */
static bool read_starts(char *text, struct dnv_span *span)
{
	char *rest = NULL;
	uint64_t start;

	span->n_starts = 0;
	for (char *word = strtok_r(text, ",", &rest); word;
		word = strtok_r(NULL, ",", &rest)) {
		if (span->n_starts == DNV_GRID_MAX ||
			!dnv_text_number(
				word, UINT64_MAX, DNV_GRID_MAX - span->size, &start))
			return false;
		span->starts[span->n_starts++] = (uint8_t)start;
	}
	return span->n_starts > 0;
}

/* gpu, profile, what, value */
static bool read_alter(struct dnv_node *node, const struct dnv_line *line)
{
	struct dnv_gi_profile *profile;
	uint64_t gpu, mib;

	if (line->n_words != 5 ||
		!dnv_text_number(line->words[1], UINT64_MAX, DNV_GPUS_MAX - 1, &gpu) ||
		gpu >= node->n_gpus)
		return false;
	profile = alter(&node->gpus[gpu], gpu, line->words[2]);
	if (profile && strcmp(line->words[3], "starts") == 0)
		return read_starts(line->words[4], &profile->span);
	if (!profile || strcmp(line->words[3], "memory") != 0 ||
		!dnv_text_number(line->words[4], UINT64_MAX, UINT32_MAX, &mib))
		return false;
	profile->memory_mib = (uint32_t)mib;
	return true;
}

static bool read_gpu(struct dnv_node *node, const struct dnv_line *line)
{
	struct dnv_gpu *gpu = &node->gpus[node->n_gpus];

	if (node->n_gpus == DNV_GPUS_MAX || line->n_words < 2)
		return false;
	gpu->model = dnv_model_find(line->words[1]);
	if (!gpu->model)
		return false;
	set_defaults(gpu, node->n_gpus);
	for (int i = 2; i < line->n_words; i++)
		if (!read_option(gpu, line->words[i]))
			return false;
	node->n_gpus++;
	return true;
}

/* A name may contain blanks. */
static void join(char *ret, size_t bytes, char *const *words)
{
	size_t n = 0;

	for (; *words && n < bytes; words++)
		n += (size_t)snprintf(ret + n, bytes - n, n ? " %s" : "%s", *words);
}

/* gpu, id, MiB, how many, name */
static bool read_vgpu_type(struct dnv_node *node, const struct dnv_line *line)
{
	struct dnv_vgpu_type *type = &node->vgpu_types[node->n_vgpu_types];
	uint64_t gpu, id, max;

	if (node->n_vgpu_types == DNV_VGPU_TYPES_MAX || line->n_words < 6 ||
		!dnv_text_number(line->words[1], UINT64_MAX, DNV_GPUS_MAX - 1, &gpu) ||
		!dnv_text_number(line->words[2], UINT64_MAX, UINT32_MAX, &id) ||
		!dnv_text_number(
			line->words[3], UINT64_MAX, UINT32_MAX, &type->memory_mib) ||
		!dnv_text_number(line->words[4], UINT64_MAX, 64, &max))
		return false;
	type->gpu = (uint32_t)gpu;
	type->id = (uint32_t)id;
	type->max = (uint32_t)max;
	join(type->name, sizeof(type->name), line->words + 5);
	node->n_vgpu_types++;
	return true;
}

static bool read_driver(struct dnv_node *node, const struct dnv_line *line)
{
	snprintf(node->driver, sizeof(node->driver), "%s",
		line->n_words == 2 ? line->words[1] : "");
	return node->driver[0];
}

static bool read_unprivileged(struct dnv_node *node, const struct dnv_line *line)
{
	return node->unprivileged = true;
}

static bool read_legacy_uuids(struct dnv_node *node, const struct dnv_line *line)
{
	return node->legacy_uuids = true;
}

static bool read_stale(struct dnv_node *node, const struct dnv_line *line)
{
	return node->stale = true;
}

static const struct {
	const char *word;
	bool (*read)(struct dnv_node *node, const struct dnv_line *line);
} statements[] = {
	{"gpu", read_gpu},
	{"alter", read_alter},
	{"vgpu-type", read_vgpu_type},
	{"driver", read_driver},
	{"unprivileged", read_unprivileged},
	{"legacy-uuids", read_legacy_uuids},
	{"stale", read_stale},
};

static bool read_statement(struct dnv_node *node, const struct dnv_line *line)
{
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
		if (strcmp(statements[i].word, line->words[0]) == 0)
			return statements[i].read(node, line);
	return false;
}

bool dnv_node_read(int dirfd, struct dnv_node *ret)
{
	char *text = dnv_text_read(dirfd, "node"), *rest = text;
	struct dnv_line line = {0};

	if (!text)
		return false;
	*ret = (struct dnv_node){.legacy_uuids = DNV_DRIVER < 470};
	snprintf(ret->driver, sizeof(ret->driver), "%s", driver_version);
	while (dnv_text_next(&rest, &line))
		if (!read_statement(ret, &line))
			dnv_text_die("node", &line);
	free(text);
	return true;
}
