/* SPDX-License-Identifier: Apache-2.0 */
/* mig-parted: named configurations, each a list of entries: which GPUs, whether MIG is
 * on, how many of which instances.  One configuration becomes a layout, each entry a rule
 * for every model that its filter names.  Hooks and checkpoints are not read. */
#include "import/internal.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "core/gpu/gpu.h"
#include "import/import.h"
#include "import/mig.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VENDOR_ID 0x10de
#define MODELS_MAX 32

struct entry {
	struct clv_import_job *job;
	struct clv_yaml_value place;
	/* Models of device-filter: distinct, static texts. */
	const char *models[MODELS_MAX];
	size_t n_models;
	bool has_filter;
	struct clv_yaml_value filter;
	struct clv_yaml_value devices;
	bool is_all;
	bool is_mig;
	bool has_instances;
	struct clv_yaml_value instances;
	struct clv_import_want *wants;
	size_t n_wants;
};

/* --- The filter --- */

static int add_model(struct entry *entry, struct clv_yaml_value value, uint16_t device,
	struct clv_error *err)
{
	const struct clv_gpu *gpu = clv_gpu_find_pci(CLV_GPU_NVIDIA, device, NULL);
	const char *model = gpu ? clv_gpu_selector(gpu) : NULL;

	if (!model)
		return clv_import_remark(entry->job, value, err,
			"cleave does not know which GPU has PCI device id 0x%04X: write "
			"a rule for it by hand, with select: {model: ...}",
			device);
	for (size_t i = 0; i < entry->n_models; i++) {
		if (strcmp(entry->models[i], model) == 0)
			return 0;
	}
	if (entry->n_models == MODELS_MAX)
		return clv_yaml_fail(
			value, err, -E2BIG, "more than %d models here", MODELS_MAX);
	entry->models[entry->n_models++] = model;
	return 0;
}

static int fail_with_id(
	struct clv_yaml_value value, const char *text, struct clv_error *err)
{
	return clv_yaml_fail(value, err, -EINVAL,
		"'%.40s' is no PCI id of NVIDIA's: the device id comes first, then the "
		"vendor id, like 0x20B210DE",
		text);
}

/* "0x20B210DE", and perhaps ":0x146310DE" for the subsystem. */
static int read_filter_id(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct entry *entry = into;
	const char *text = clv_yaml_text(value);
	unsigned long id;
	char *end;
	int r;

	errno = 0;
	id = strtoul(text, &end, 0);
	if (text[0] < '0' || text[0] > '9' || errno != 0 || id > UINT32_MAX)
		return fail_with_id(value, text, err);
	if ((*end != '\0' && *end != ':') || (id & 0xffff) != VENDOR_ID)
		return fail_with_id(value, text, err);
	r = add_model(entry, value, (uint16_t)(id >> 16), err);
	if (r < 0 || *end == '\0')
		return r;
	return clv_import_remark(entry->job, value, err,
		"a layout does not look at PCI subsystems: the rule is for all devices "
		"of this model, name them where that is too many");
}

/* Null, "" or an empty list: it filters nothing. */
static bool is_empty(struct clv_yaml_value value)
{
	return clv_yaml_kind(value) != CLV_YAML_MAP && clv_yaml_count(value) == 0 &&
	       clv_yaml_text(value)[0] == '\0';
}

static int read_filter(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct entry *entry = into;

	if (is_empty(value))
		return 0;
	entry->has_filter = true;
	entry->filter = value;
	return clv_yaml_read_list(value, read_filter_id, entry, err);
}

/* --- The rest of an entry --- */

static int read_devices(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct entry *entry = into;

	entry->devices = value;
	entry->is_all = strcmp(clv_yaml_text(value), "all") == 0;
	if (entry->is_all || clv_yaml_count(value) > 0)
		return 0;
	return clv_yaml_fail(value, err, -EINVAL,
		"'all' or a list of device numbers is expected here, like [0, 1]");
}

static int read_enabled(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct entry *entry = into;

	return clv_yaml_read_bool(value, &entry->is_mig, err);
}

static int read_instance(struct entry *entry, struct clv_yaml_value key,
	struct clv_yaml_value value, struct clv_error *err)
{
	struct clv_import_want *want;
	uint64_t count;
	int r = clv_yaml_read_number(value, 0, CLV_IMPORT_NUMBER_MAX, &count, err);

	if (r < 0)
		return r;
	want = CLV_APPEND(entry->wants, entry->n_wants);
	if (!want)
		return clv_import_no_memory(key, err);
	want->count = (uint32_t)count;
	want->place = key;
	r = clv_import_parse_profile(key, clv_yaml_text(key), &want->profile, err);
	if (r >= 0 && count == 0)
		entry->n_wants--;
	return r;
}

static int read_instances(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct entry *entry = into;
	int r = 0;

	entry->instances = value;
	entry->has_instances = true;
	if (clv_yaml_kind(value) != CLV_YAML_MAP)
		return clv_yaml_fail(value, err, -EINVAL,
			"profiles and their numbers are expected here, like "
			"{\"1g.10gb\": 2}");
	for (size_t i = 0; i < clv_yaml_count(value) && r >= 0; i++)
		r = read_instance(
			entry, clv_yaml_key(value, i), clv_yaml_at(value, i), err);
	if (r >= 0 && entry->n_wants == 0 && clv_yaml_count(value) > 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"all counts are 0: write {} for no instance");
	return r;
}

static const struct clv_yaml_field entry_fields[] = {
	{"device-filter", read_filter, false},
	{"devices", read_devices, true},
	{"mig-enabled", read_enabled, true},
	{"mig-devices", read_instances, false},
};

static int check_entry(const struct entry *entry, struct clv_error *err)
{
	if (entry->is_mig && !entry->has_instances)
		return clv_yaml_fail(entry->place, err, -EINVAL,
			"MIG is on and 'mig-devices' is missing: write {} for no "
			"instance");
	if (!entry->is_mig && entry->n_wants > 0)
		return clv_yaml_fail(entry->instances, err, -EINVAL,
			"instances are requested and MIG is off: set 'mig-enabled: "
			"true'");
	return 0;
}

/* --- From an entry to rules --- */

static int add_index(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t index;
	int r = clv_yaml_read_number(value, 0, CLV_IMPORT_NUMBER_MAX, &index, err);

	return r < 0 ? r : clv_import_add_index(into, (uint32_t)index, value, err);
}

static int add_rule(struct entry *entry, const char *model,
	const struct clv_import_row *rows, size_t n_rows, struct clv_error *err)
{
	struct clv_layout_rule *rule;
	int r = clv_import_add_rule(
		entry->job, entry->place, "nvidia", model, &rule, err);

	if (r < 0)
		return r;
	rule->has_mig = true;
	/* A file for many nodes has rules for devices that this one lacks. */
	rule->select.is_optional = model != NULL;
	if (entry->is_mig)
		r = clv_import_add_rows(rule, rows, n_rows, err);
	if (r >= 0 && !entry->is_all)
		r = clv_yaml_read_list(entry->devices, add_index, rule, err);
	return r;
}

/* One rule by index, whatever the filter: a layout counts the devices that match the rest
 * of the selector, mig-parted counts all. */
static int add_numbered_rule(struct entry *entry, const struct clv_import_row *rows,
	size_t n_rows, struct clv_error *err)
{
	int r = add_rule(
		entry, entry->n_models == 1 ? entry->models[0] : NULL, rows, n_rows, err);

	if (r < 0 || !entry->has_filter)
		return r;
	return clv_import_remark(entry->job, entry->filter, err,
		"the rule goes by the numbers in 'devices' alone, which count all GPUs: "
		"see that they are of the filtered model");
}

static int add_rules(struct entry *entry, const struct clv_import_row *rows,
	size_t n_rows, struct clv_error *err)
{
	int r = 0;

	if (!entry->has_filter)
		return add_rule(entry, NULL, rows, n_rows, err);
	for (size_t i = 0; i < entry->n_models && r >= 0; i++)
		r = add_rule(entry, entry->models[i], rows, n_rows, err);
	return r;
}

static int check_rows(struct entry *entry, const struct clv_import_row *rows,
	size_t n_rows, struct clv_error *err)
{
	int r = 0;

	if (!entry->has_filter)
		return clv_import_check_fit(
			entry->job, NULL, rows, n_rows, entry->instances, err);
	for (size_t i = 0; i < entry->n_models && r >= 0; i++)
		r = clv_import_check_fit(entry->job, entry->models[i], rows, n_rows,
			entry->instances, err);
	return r;
}

static int finish_entry(struct entry *entry, struct clv_error *err)
{
	_cleanup_free_ struct clv_import_row *rows = NULL;
	size_t n_rows = 0;
	int r = check_entry(entry, err);

	if (r >= 0)
		r = clv_import_pack(entry->wants, entry->n_wants, &rows, &n_rows, err);
	if (r >= 0)
		r = check_rows(entry, rows, n_rows, err);
	if (r < 0)
		return r;
	if (entry->is_all)
		return add_rules(entry, rows, n_rows, err);
	return add_numbered_rule(entry, rows, n_rows, err);
}

static int read_entry(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct entry entry = {.job = into, .place = value};
	int r = clv_yaml_read_map(
		value, entry_fields, CLV_ARRAY_SIZE(entry_fields), &entry, err);

	if (r >= 0)
		r = finish_entry(&entry, err);
	free(entry.wants);
	return r;
}

/* --- The file --- */

static int read_version(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const versions[] = {"v1"};

	return clv_yaml_read_choice(value, versions, CLV_ARRAY_SIZE(versions), err);
}

static int read_configurations(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_import_job *job = into;
	struct clv_yaml_value chosen;
	int r = clv_import_choose_key(
		value, job->options->select, "configuration", &chosen, err);

	if (r < 0)
		return r;
	if (clv_yaml_count(chosen) == 0 || clv_yaml_kind(chosen) != CLV_YAML_LIST)
		return clv_yaml_fail(chosen, err, -EINVAL,
			"a list of entries is expected here: - devices: all ...");
	return clv_yaml_read_list(chosen, read_entry, job, err);
}

int clv_import_mig_parted(
	struct clv_import_job *job, struct clv_yaml_value root, struct clv_error *err)
{
	static const struct clv_yaml_field fields[] = {
		{"version", read_version, true},
		{"mig-configs", read_configurations, true},
	};

	return clv_yaml_read_map(root, fields, CLV_ARRAY_SIZE(fields), job, err);
}
