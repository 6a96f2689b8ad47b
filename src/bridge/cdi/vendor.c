/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the vendors' CDI files, which are JSON or YAML, and finds a device in them. */
#include "bridge/cdi/vendor.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/yaml.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RENDER "/dev/dri/renderD"
#define PATH_BYTES 1024

/* Kinds of the vendors' devices: of nvidia-ctk, NVIDIA's device plugin, amd-ctk. */
static const struct {
	const char *kind, *backend;
} kinds[] = {
	{"nvidia.com/gpu", "nvidia"},
	{"k8s.device-plugin.nvidia.com/gpu", "nvidia"},
	{"amd.com/gpu", "amd"},
};

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* --- YAML as JSON --- */

/* Keys of CDI whose values are numbers; all others are texts. */
static bool is_number(const char *key)
{
	static const char *const keys[] = {
		"major", "minor", "fileMode", "uid", "gid", "timeout", "additionalGids"};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(keys); i++) {
		if (strcmp(keys[i], key) == 0)
			return true;
	}
	return false;
}

/* The depth of a document is bounded by its parser. */
static json_t *convert(struct clv_yaml_value value, const char *key) /* NOLINT */
{
	const char *text = clv_yaml_text(value);
	json_t *made = NULL;

	switch (clv_yaml_kind(value)) {
	case CLV_YAML_MAP:
		made = json_object();
		for (size_t i = 0; i < clv_yaml_count(value); i++) {
			const char *name = clv_yaml_text(clv_yaml_key(value, i));

			json_object_set_new(
				made, name, convert(clv_yaml_at(value, i), name));
		}
		return made;
	case CLV_YAML_LIST:
		made = json_array();
		for (size_t i = 0; i < clv_yaml_count(value); i++)
			json_array_append_new(
				made, convert(clv_yaml_item(value, i), key));
		return made;
	case CLV_YAML_TEXT:
		return is_number(key) ? json_integer(strtoll(text, NULL, 0))
				      : json_string(text);
	case CLV_YAML_NULL:
		break;
	}
	return json_null();
}

static json_t *read_yaml(const char *path)
{
	struct clv_yaml *yaml = NULL;
	json_t *made;

	if (clv_yaml_parse_file(path, &yaml, NULL) < 0)
		return NULL;
	made = convert(clv_yaml_root(yaml), "");
	clv_yaml_free(yaml);
	return made;
}

/* --- Files --- */

static bool ends_with(const char *name, const char *ending)
{
	size_t n = strlen(name), n_ending = strlen(ending);

	return n > n_ending && strcmp(name + n - n_ending, ending) == 0;
}

static int is_vendors(const struct dirent *entry)
{
	return strncmp(entry->d_name, "cleave", 6) != 0 &&
	       (ends_with(entry->d_name, ".json") || ends_with(entry->d_name, ".yaml"));
}

static void visit(const char *const *folders, size_t n,
	void (*on_file)(const char *path, void *userdata), void *userdata)
{
	for (size_t i = 0; i < n; i++) {
		struct dirent **entries = NULL;
		int n_entries = scandir(folders[i], &entries, is_vendors, alphasort);

		for (int k = 0; k < n_entries; k++) {
			char path[PATH_BYTES];

			snprintf(path, sizeof(path), "%.700s/%.256s", folders[i],
				entries[k]->d_name);
			on_file(path, userdata);
			free(entries[k]);
		}
		free(entries);
	}
}

static void read_file(const char *path, void *userdata)
{
	json_t *specs = userdata, *spec;

	spec = ends_with(path, ".json") ? json_load_file(path, 0, NULL) : read_yaml(path);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].kind, text_of(spec, "kind")) == 0)
			json_array_append(specs, spec);
	}
	json_decref(spec);
}

json_t *clv_cdi_vendor_read(const char *const *folders, size_t n)
{
	json_t *specs = json_array();

	visit(folders, n, read_file, specs);
	return specs;
}

static void stamp_file(const char *path, void *userdata)
{
	uint64_t *sum = userdata;
	struct stat st = {};

	if (stat(path, &st) < 0)
		return;
	*sum = clv_fnv1a(*sum, &st.st_ino, sizeof(st.st_ino));
	*sum = clv_fnv1a(*sum, &st.st_size, sizeof(st.st_size));
	*sum = clv_fnv1a(*sum, &st.st_mtim, sizeof(st.st_mtim));
}

uint64_t clv_cdi_vendor_stamp(const char *const *folders, size_t n)
{
	uint64_t sum = CLV_FNV1A_START;

	visit(folders, n, stamp_file, &sum);
	return sum;
}

/* --- Devices --- */

static bool has_node(const json_t *nodes, const char *path)
{
	const json_t *node;
	size_t i;

	json_array_foreach (nodes, i, node) {
		if (strcmp(text_of(node, "path"), path) == 0)
			return true;
	}
	return false;
}

/* Whether the entry has one of the render nodes, and no other: `all` has all. */
static bool has_render_node(const json_t *edits, const json_t *nodes)
{
	const json_t *node;
	bool has_one = false;
	size_t i;

	json_array_foreach (json_object_get(edits, "deviceNodes"), i, node) {
		const char *path = text_of(node, "path");

		if (strncmp(path, RENDER, strlen(RENDER)) != 0)
			continue;
		if (!has_node(nodes, path))
			return false;
		has_one = true;
	}
	return has_one;
}

static const json_t *find_entry(const json_t *spec, const char *backend,
	const json_t *device, const json_t *nodes)
{
	const json_t *entry;
	size_t i;

	json_array_foreach (json_object_get(spec, "devices"), i, entry) {
		bool is_it =
			strcmp(backend, "amd") == 0
				? has_render_node(
					  json_object_get(entry, "containerEdits"), nodes)
				: strcmp(text_of(entry, "name"),
					  text_of(device, "uuid")) == 0;

		if (is_it)
			return entry;
	}
	return NULL;
}

void clv_cdi_append(json_t *edits, const json_t *more)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)more, key, value) {
		json_t *list = json_object_get(edits, key);

		if (!list)
			json_object_set_new(edits, key, json_deep_copy(value));
		else
			json_array_extend(list, value);
	}
}

bool clv_cdi_vendor_add(
	const json_t *specs, const json_t *device, const json_t *nodes, json_t *edits)
{
	const json_t *spec, *entry;
	size_t k;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].backend, text_of(device, "backend")) != 0)
			continue;
		json_array_foreach (specs, k, spec) {
			if (strcmp(kinds[i].kind, text_of(spec, "kind")) != 0)
				continue;
			entry = find_entry(spec, kinds[i].backend, device, nodes);
			if (!entry)
				continue;
			clv_cdi_append(edits, json_object_get(spec, "containerEdits"));
			clv_cdi_append(edits, json_object_get(entry, "containerEdits"));
			return true;
		}
	}
	return false;
}
