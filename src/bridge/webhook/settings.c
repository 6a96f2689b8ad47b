/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys of cleave-webhook's file of settings. */
#include "bridge/webhook/settings.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "base/yaml.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

static int read_version(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t version;

	return clv_yaml_read_number(value, 1, 1, &version, err);
}

static int read_pairs(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[_CLV_WEBHOOK_PAIRS_MAX] = {
		[CLV_WEBHOOK_PAIRS_ANY] = "any",
		[CLV_WEBHOOK_PAIRS_REQUIRED] = "required",
		[CLV_WEBHOOK_PAIRS_REFUSED] = "refused",
	};
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (r >= 0)
		*(enum clv_webhook_pairs *)into = (enum clv_webhook_pairs)r;
	return r < 0 ? r : 0;
}

static int read_bytes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t bytes;
	int r = clv_units_parse_bytes(clv_yaml_text(value), &bytes, err);

	if (r < 0)
		return clv_yaml_prefix_position(value, err);
	if (bytes % MIB != 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"a number of mebibytes is expected, such as 1M, 256M, 80Gi");
	*(uint64_t *)into = bytes;
	return 0;
}

static int read_name(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(value, into, CLV_WEBHOOK_NAME_MAX, err);
}

static const char *const classes[] = {"latency", "normal", "batch"};

const char *clv_webhook_class_find(const char *name)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(classes); i++) {
		if (strcmp(classes[i], name) == 0)
			return classes[i];
	}
	return NULL;
}

/* {PRIORITYCLASS: CLASS, ...} */
static int read_classes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_webhook_settings *settings = into;

	if (clv_yaml_kind(value) != CLV_YAML_MAP ||
		clv_yaml_count(value) > CLV_WEBHOOK_CLASSES_MAX)
		return clv_yaml_fail(value, err, -EINVAL,
			"a map of at most %d names of PriorityClasses to classes is "
			"expected",
			CLV_WEBHOOK_CLASSES_MAX);
	for (size_t i = 0; i < clv_yaml_count(value); i++) {
		struct clv_webhook_class *class = &settings->classes[i];
		int r = clv_yaml_read_text(clv_yaml_key(value, i), class->priority,
			sizeof(class->priority), err);

		if (r >= 0)
			r = clv_yaml_read_choice(clv_yaml_at(value, i), classes,
				CLV_ARRAY_SIZE(classes), err);
		if (r < 0)
			return r;
		class->name = classes[r];
		settings->n_classes = i + 1;
	}
	return 0;
}

#define AT(member) offsetof(struct clv_webhook_settings, member)

static const struct clv_yaml_field fields[] = {
	{"version", read_version, true, 0},
	{"pairs", read_pairs, false, AT(pairs)},
	{"memory-unit", read_bytes, false, AT(unit_bytes)},
	{"device-memory", read_bytes, false, AT(device_bytes)},
	{"largest-device-memory", read_bytes, false, AT(largest_bytes)},
	{"runtime-class", read_name, false, AT(runtime_class)},
	{"scheduler", read_name, false, AT(scheduler)},
	{"classes", read_classes, false, 0},
};

int clv_webhook_settings_read(
	const char *path, struct clv_webhook_settings *ret, struct clv_error *err)
{
	struct clv_webhook_settings settings = {0};
	struct clv_yaml *yaml = NULL;
	int r = clv_yaml_parse_file(path, &yaml, err);

	if (r < 0)
		return r;
	r = clv_yaml_read_map(
		clv_yaml_root(yaml), fields, CLV_ARRAY_SIZE(fields), &settings, err);
	clv_yaml_free(yaml);
	if (r < 0)
		return r;
	if (settings.largest_bytes == 0)
		settings.largest_bytes = settings.device_bytes;
	if (settings.largest_bytes < settings.device_bytes)
		return clv_error_set(err, -EINVAL,
			"%s: largest-device-memory is less than device-memory, which is "
			"that of the smallest device",
			path);
	*ret = settings;
	return 0;
}
