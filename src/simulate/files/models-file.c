/* SPDX-License-Identifier: Apache-2.0 */
/* Models in YAML. */
#include "simulate/files/models-file.h"

#include "simulate/files/plan-read.h"

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <string.h>

#define MIB 0x1p20

struct entry {
	char name[64];
	uint32_t weights_mib;
	double rate;
	uint64_t latency_ns;
	uint64_t n_tokens, n_requests, bytes_of_token;
};

static int read_bytes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	if (clv_units_parse_bytes(clv_yaml_text(value), into, err) < 0)
		return clv_yaml_prefix_position(value, err);
	return 0;
}

static int read_tokens(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_number(value, 1, 1000000000, into, err);
}

#define AT(member) offsetof(struct entry, member)
/* clang-format off */
static const struct clv_yaml_field entry_fields[] = {
	{"name",            clv_plan_read_name,    true,  AT(name)},
	{"weights",         clv_plan_read_mib,     true,  AT(weights_mib)},
	{"rate",            clv_plan_read_decimal, false, AT(rate)},
	{"latency",         clv_plan_read_ns,      false, AT(latency_ns)},
	{"context",         read_tokens,           false, AT(n_tokens)},
	{"requests",        clv_plan_read_u64,     false, AT(n_requests)},
	{"cache_per_token", read_bytes,            false, AT(bytes_of_token)},
};
/* clang-format on */
#undef AT

/* Sets the demand of the last model of the file. */
static int set_demand(struct clv_yaml_value value, const struct entry *entry,
	struct clv_models_file *file, struct clv_error *err)
{
	struct clv_models_model *model = &file->models[file->n_models - 1];
	bool has_rate = entry->rate > 0 && entry->latency_ns > 0;
	bool has_caches =
		entry->n_tokens > 0 && entry->n_requests > 0 && entry->bytes_of_token > 0;
	bool has_half = (entry->rate > 0 || entry->latency_ns > 0) != has_rate ||
			(entry->n_tokens || entry->n_requests || entry->bytes_of_token) !=
				has_caches;

	if (has_half || has_rate == has_caches)
		return clv_yaml_fail(value, err, -EINVAL,
			"a model has rate and latency, or context, requests and "
			"cache_per_token, all above 0");
	if (file->n_models > 1 && file->has_caches != has_caches)
		return clv_yaml_fail(value, err, -EINVAL,
			"all models of a file have a rate, or all have a context");
	file->has_caches = has_caches;
	model->demand =
		has_rate ? entry->rate * (double)CLV_NS_PER_S / (double)entry->latency_ns
			 : (double)entry->n_tokens * (double)entry->n_requests *
				   (double)entry->bytes_of_token / MIB;
	return 0;
}

static bool is_known(const struct clv_models_file *file, const char *name)
{
	for (size_t i = 0; i < file->n_models; i++) {
		if (strcmp(file->names[i], name) == 0)
			return true;
	}
	return false;
}

static int read_entry(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_models_file *file = into;
	struct entry entry = {0};
	int r = clv_yaml_read_map(
		value, entry_fields, CLV_ARRAY_SIZE(entry_fields), &entry, err);

	if (r < 0)
		return r;
	if (file->n_models == CLV_MODELS_MAX)
		return clv_yaml_fail(value, err, -E2BIG, "there are more than %d models",
			CLV_MODELS_MAX);
	if (is_known(file, entry.name))
		return clv_yaml_fail(value, err, -EINVAL,
			"the name '%.60s' appears twice", entry.name);
	memcpy(file->names[file->n_models], entry.name, sizeof(entry.name));
	file->models[file->n_models++].size = entry.weights_mib;
	return set_demand(value, &entry, file, err);
}

static int read_entries(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_entry, into, err);
}

static int read_gpus(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t n;
	int r = clv_yaml_read_number(value, 1, CLV_MODELS_MAX, &n, err);

	if (r >= 0)
		((struct clv_models_file *)into)->n_gpus = (uint32_t)n;
	return r;
}

/* clang-format off */
static const struct clv_yaml_field file_fields[] = {
	{"version", clv_plan_read_version, true,  0},
	{"memory",  clv_plan_read_mib,     true,  offsetof(struct clv_models_file, memory_mib)},
	{"gpus",    read_gpus,             false, 0},
	{"models",  read_entries,          true,  0},
};
/* clang-format on */

int clv_models_file_read(
	const char *path, struct clv_models_file *ret, struct clv_error *err)
{
	_cleanup_yaml_ struct clv_yaml *yaml = NULL;
	int r = clv_yaml_parse_file(path, &yaml, err);

	*ret = (struct clv_models_file){0};
	if (r == 0)
		r = clv_yaml_read_map(clv_yaml_root(yaml), file_fields,
			CLV_ARRAY_SIZE(file_fields), ret, err);
	if (r < 0)
		return r;
	if (ret->n_models == 0)
		return clv_yaml_fail(
			clv_yaml_root(yaml), err, -EINVAL, "the file has no models");
	if (ret->n_gpus == 0 && !ret->has_caches)
		return clv_yaml_fail(clv_yaml_root(yaml), err, -EINVAL,
			"the number of gpus is missing: without it, models have a "
			"context, and the fewest GPUs are found");
	return 0;
}
