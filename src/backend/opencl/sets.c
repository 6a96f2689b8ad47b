/* SPDX-License-Identifier: Apache-2.0 */
/* The YAML file of sets of processors.  A change locks the file, reads it, and replaces
 * it atomically. */
#include "backend/opencl/sets.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/error.h"
#include "base/file.h"
#include "base/yaml.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX 1024

void clv_core_sets_clear(struct clv_core_sets *sets)
{
	free(sets->items);
	*sets = (struct clv_core_sets){0};
}

static int read_device(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(
		value, into, sizeof(((struct clv_core_set *)NULL)->device), err);
}

static int read_cpus(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	if (clv_cpus_parse(clv_yaml_text(value), into) < 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is not a list of processors", clv_yaml_text(value));
	return 0;
}

static const struct clv_yaml_field set_fields[] = {
	{"device", read_device, true, offsetof(struct clv_core_set, device)},
	{"cpus", read_cpus, true, offsetof(struct clv_core_set, cpus)},
};

static int read_set(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_core_sets *sets = into;
	struct clv_core_set *set = CLV_APPEND(sets->items, sets->n);

	if (!set)
		return clv_error_errno(err, ENOMEM, "cannot read sets of processors");
	return clv_yaml_read_map(value, set_fields, CLV_ARRAY_SIZE(set_fields), set, err);
}

static int parse(const char *path, struct clv_core_sets *ret, struct clv_error *err)
{
	struct clv_yaml *yaml;
	int r = clv_yaml_parse_file(path, &yaml, err);

	if (r < 0)
		return r;
	r = clv_yaml_read_list(clv_yaml_root(yaml), read_set, ret, err);
	clv_yaml_free(yaml);
	return r;
}

int clv_core_sets_load(struct clv_core_sets *ret, struct clv_error *err)
{
	const char *path = getenv("CLEAVE_CORES");
	int r;

	*ret = (struct clv_core_sets){0};
	if (!path || access(path, F_OK) < 0)
		return 0;
	r = parse(path, ret, err);
	if (r < 0)
		clv_core_sets_clear(ret);
	return r;
}

static int save(const char *path, const struct clv_core_sets *sets, struct clv_error *err)
{
	_cleanup_free_ char *text = NULL;
	char list[LIST_MAX];
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return clv_error_errno(err, ENOMEM, "cannot store sets of processors");
	if (sets->n == 0)
		fputs("[]\n", to);
	for (size_t i = 0; i < sets->n; i++) {
		clv_cpus_format(&sets->items[i].cpus, list, sizeof(list));
		fprintf(to, "- {device: \"%s\", cpus: \"%s\"}\n", sets->items[i].device,
			list);
	}
	if (fclose(to) != 0)
		return clv_error_errno(err, ENOMEM, "cannot store sets of processors");
	return clv_file_replace(path, text, err);
}

static int add_set(struct clv_core_sets *sets, const char *device, const cpu_set_t *cpus,
	struct clv_error *err)
{
	struct clv_core_set *set;
	char list[LIST_MAX];
	cpu_set_t common;

	for (size_t i = 0; i < sets->n; i++) {
		CPU_AND(&common, cpus, &sets->items[i].cpus);
		if (strcmp(sets->items[i].device, device) == 0 &&
			CPU_COUNT(&common) > 0) {
			clv_cpus_format(&common, list, sizeof(list));
			return clv_error_set(err, -ENOSPC,
				"the processors %.60s are in another partition", list);
		}
	}
	set = CLV_APPEND(sets->items, sets->n);
	if (!set)
		return clv_error_errno(err, ENOMEM, "cannot store sets of processors");
	snprintf(set->device, sizeof(set->device), "%s", device);
	set->cpus = *cpus;
	return 0;
}

static int remove_set(struct clv_core_sets *sets, const char *device,
	const cpu_set_t *cpus, struct clv_error *err)
{
	for (size_t i = 0; i < sets->n; i++) {
		if (strcmp(sets->items[i].device, device) == 0 &&
			CPU_EQUAL(cpus, &sets->items[i].cpus)) {
			sets->items[i] = sets->items[--sets->n];
			return 0;
		}
	}
	return clv_error_set(err, -ENODEV, "there is no such set of processors");
}

static int change(int (*how)(struct clv_core_sets *sets, const char *device,
			  const cpu_set_t *cpus, struct clv_error *err),
	const char *device, const cpu_set_t *cpus, struct clv_error *err)
{
	const char *path = getenv("CLEAVE_CORES");
	_cleanup_close_ int lock = -1;
	struct clv_core_sets sets;
	int r;

	if (!path)
		return clv_error_set(err, -ENOTSUP,
			"sets of processors cannot be stored: CLEAVE_CORES names no "
			"file");
	r = clv_file_lock(path, &lock, err);
	if (r >= 0)
		r = clv_core_sets_load(&sets, err);
	if (r < 0)
		return r;
	r = how(&sets, device, cpus, err);
	if (r >= 0)
		r = save(path, &sets, err);
	clv_core_sets_clear(&sets);
	return r;
}

int clv_core_sets_add(const char *device, const cpu_set_t *cpus, struct clv_error *err)
{
	return change(add_set, device, cpus, err);
}

int clv_core_sets_remove(const char *device, const cpu_set_t *cpus, struct clv_error *err)
{
	return change(remove_set, device, cpus, err);
}
