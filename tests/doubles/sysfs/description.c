/* SPDX-License-Identifier: Apache-2.0 */
#include "nvidia.h"
#include "world.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* The description of the machine: YAML, of which JSON is a part. An unknown word ends the
 * process, so that no test runs on another machine than it describes. */

static const struct sy_family *const families[] = {
	&sy_family_amd, &sy_family_intel, &sy_family_nvidia};

static const char *const groups[] = {"own", "physfn", NULL};

#define FIELD(name, member, kind, words) \
	SY_FIELD(struct sy_function, name, member, kind, words)

static const struct sy_field common[] = {
	FIELD("bdf", bdf, SY_STRING, NULL),
	FIELD("model", model, SY_STRING, NULL),
	FIELD("product_name", product_name, SY_STRING, NULL),
	FIELD("driver", home_driver, SY_STRING, NULL),
	FIELD("vendor", vendor, SY_NUMBER, NULL),
	FIELD("device", device, SY_NUMBER, NULL),
	FIELD("class", class, SY_NUMBER, NULL),
	FIELD("subsystem_vendor", subsystem_vendor, SY_NUMBER, NULL),
	FIELD("subsystem_device", subsystem_device, SY_NUMBER, NULL),
	FIELD("numa_node", numa_node, SY_STRING, NULL),
	FIELD("totalvfs", totalvfs, SY_NUMBER, NULL),
	FIELD("vf_device", vf_device, SY_NUMBER, NULL),
	FIELD("offset", offset, SY_NUMBER, NULL),
	FIELD("stride", stride, SY_NUMBER, NULL),
	FIELD("vf_groups", vf_groups, SY_CHOICE, groups),
	FIELD("group_with", group_with, SY_STRING, NULL),
};

static const struct sy_field of_the_world[] = {
	SY_FIELD(struct sy_world, "cpu_nodes", cpu_nodes, SY_NUMBER, NULL),
	SY_FIELD(struct sy_world, "first_card", first_card, SY_NUMBER, NULL),
	SY_FIELD(struct sy_world, "first_render", first_render, SY_NUMBER, NULL),
};

static const struct sy_field of_a_type[] = {
	SY_FIELD(struct sy_vgpu_type, "id", id, SY_NUMBER, NULL),
	SY_FIELD(struct sy_vgpu_type, "name", name, SY_STRING, NULL),
	SY_FIELD(struct sy_vgpu_type, "memory_mb", memory_mb, SY_NUMBER, NULL),
	SY_FIELD(struct sy_vgpu_type, "most", most, SY_NUMBER, NULL),
};

static yaml_document_t document;

/* --- YAML --- */

static const char *scalar(const yaml_node_t *node, const char *key)
{
	if (!node || node->type != YAML_SCALAR_NODE)
		sy_die("description: %s is no single value", key);
	return (const char *)node->data.scalar.value;
}

/* One entry after the other, from 0; false after the last. */
static bool entry(
	const yaml_node_t *map, size_t index, const char **key, yaml_node_t **value)
{
	const yaml_node_pair_t *pair = map->data.mapping.pairs.start + index;

	if (pair >= map->data.mapping.pairs.top)
		return false;
	*key = scalar(yaml_document_get_node(&document, pair->key), "a key");
	*value = yaml_document_get_node(&document, pair->value);
	return true;
}

static yaml_node_t *item(const yaml_node_t *list, size_t index)
{
	const yaml_node_item_t *at = list->data.sequence.items.start + index;

	return at < list->data.sequence.items.top ? yaml_document_get_node(&document, *at)
						  : NULL;
}

static size_t length_of(const yaml_node_t *list, const char *key)
{
	if (list->type != YAML_SEQUENCE_NODE)
		sy_die("description: %s is no list", key);
	return (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
}

static void need_map(const yaml_node_t *node, const char *what)
{
	if (!node || node->type != YAML_MAPPING_NODE)
		sy_die("description: %s is no mapping", what);
}

/* --- Keys --- */

static const struct sy_field *find(
	const struct sy_field *fields, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(fields[i].name, key) == 0)
			return &fields[i];
	}
	return NULL;
}

static void set(void *object, const struct sy_field *field, const yaml_node_t *value)
{
	const char *text = scalar(value, field->name);

	if (sy_field_set(object, field, text) < 0)
		sy_die("description: %s: cannot read '%s'", field->name, text);
}

static void set_absent(struct sy_function *f, const yaml_node_t *list)
{
	f->n_absent = length_of(list, "absent");
	f->absent = sy_alloc(f->n_absent + 1, sizeof(*f->absent));
	for (size_t i = 0; i < f->n_absent; i++)
		sy_print(f->absent[i], sizeof(f->absent[i]), "%s",
			scalar(item(list, i), "absent"));
}

static void set_types(struct sy_function *f, const yaml_node_t *list)
{
	f->nvidia.n_types = length_of(list, "types");
	f->nvidia.types = sy_alloc(f->nvidia.n_types + 1, sizeof(*f->nvidia.types));
	for (size_t i = 0; i < f->nvidia.n_types; i++) {
		const yaml_node_t *map = item(list, i);
		yaml_node_t *value;
		const char *key;

		need_map(map, "a type");
		for (size_t j = 0; entry(map, j, &key, &value); j++) {
			const struct sy_field *field =
				find(of_a_type, SY_COUNT(of_a_type), key);

			if (!field)
				sy_die("description: a type has no '%s'", key);
			set(&f->nvidia.types[i], field, value);
		}
		if (!f->nvidia.types[i].id || !f->nvidia.types[i].memory_mb)
			sy_die("description: a type needs an id and memory_mb");
	}
}

static void set_key(struct sy_function *f, const char *key, const yaml_node_t *value)
{
	const struct sy_field *field = find(common, SY_COUNT(common), key);

	if (!field)
		field = find(f->family->config, f->family->n_config, key);
	if (field)
		set(f, field, value);
	else if (strcmp(key, "absent") == 0)
		set_absent(f, value);
	else if (strcmp(key, "types") == 0 && f->family == &sy_family_nvidia)
		set_types(f, value);
	else
		sy_die("description: a %s function has no '%s'", f->family->name, key);
}

/* --- Functions --- */

static void find_model(struct sy_function *f, const yaml_node_t *map)
{
	const char *key, *model = NULL;
	yaml_node_t *value;

	f->family = &sy_family_none;
	for (size_t i = 0; entry(map, i, &key, &value); i++) {
		if (strcmp(key, "model") == 0)
			model = scalar(value, key);
	}
	if (!model)
		return;
	for (size_t i = 0; i < SY_COUNT(families); i++) {
		if (!families[i]->find_model(f, model))
			continue;
		f->family = families[i];
		return;
	}
	sy_die("description: no such model: %s", model);
}

static void split_bdf(struct sy_function *f)
{
	unsigned device, function;
	int end = 0;

	if (sscanf(f->bdf, "%4x:%2x:%2x.%1x%n", &f->domain, &f->bus, &device, &function,
		    &end) != 4 ||
		f->bdf[end])
		sy_die("description: '%s' is no DDDD:BB:DD.F", f->bdf);
	f->devfn = device << 3 | function;
}

/* The defaults of the model: addresses that follow the function's own. */
static void make_vfs(struct sy_function *pf)
{
	pf->vfs = sy_alloc(pf->totalvfs + 1, sizeof(*pf->vfs));
	for (unsigned i = 0; i < pf->totalvfs; i++) {
		struct sy_function *vf = &pf->vfs[i];
		unsigned at = pf->bus << 8 | pf->devfn;

		at += (unsigned)(pf->offset + pf->stride * i);
		*vf = *pf;
		vf->device = pf->vf_device;
		vf->physfn = pf;
		vf->vfs = NULL;
		vf->totalvfs = 0;
		vf->group_with[0] = '\0';
		vf->vf = i + 1;
		vf->bus = at >> 8;
		vf->devfn = at & 0xff;
		sy_print(vf->bdf, sizeof(vf->bdf), "%04x:%02x:%02x.%x", pf->domain,
			vf->bus & 0xff, vf->devfn >> 3, vf->devfn & 7);
	}
}

static void read_function(struct sy_function *f, const yaml_node_t *map)
{
	const char *key;
	yaml_node_t *value;

	need_map(map, "a device");
	f->offset = f->stride = 1;
	strcpy(f->numa_node, "0");
	find_model(f, map);
	for (size_t i = 0; entry(map, i, &key, &value); i++)
		set_key(f, key, value);
	if (f->family->ready)
		f->family->ready(f);
	split_bdf(f);
	if (!f->vf_device)
		f->vf_device = f->device;
	make_vfs(f);
}

static unsigned give_minors(struct sy_function *f, unsigned next, unsigned n)
{
	f->card = (unsigned)sy_world.first_card + next;
	f->render = (unsigned)sy_world.first_render + next;
	return next + n;
}

/* Physical functions first, as they are created first. */
static void give_all_minors(void)
{
	unsigned next = 0;

	for (size_t i = 0; i < sy_world.n_functions; i++) {
		struct sy_function *f = &sy_world.functions[i];

		if (f->family != &sy_family_none)
			next = give_minors(f, next, f->family->drm_devices(f));
	}
	for (struct sy_function *f = NULL; (f = sy_next(f));) {
		if (f->physfn)
			next = give_minors(f, next, 1);
	}
}

static void read_functions(const yaml_node_t *list)
{
	sy_world.n_functions = length_of(list, "devices");
	sy_world.functions =
		sy_alloc(sy_world.n_functions + 1, sizeof(*sy_world.functions));
	for (size_t i = 0; i < sy_world.n_functions; i++)
		read_function(&sy_world.functions[i], item(list, i));
}

static void read_root(const yaml_node_t *root)
{
	const char *key;
	yaml_node_t *value;

	need_map(root, "the whole");
	for (size_t i = 0; entry(root, i, &key, &value); i++) {
		const struct sy_field *field =
			find(of_the_world, SY_COUNT(of_the_world), key);

		if (field)
			set(&sy_world, field, value);
		else if (strcmp(key, "devices") == 0)
			read_functions(value);
		else
			sy_die("description: there is no '%s'", key);
	}
}

void sy_world_read(const char *path)
{
	FILE *file = fopen(path, "re");
	yaml_parser_t parser;

	if (!file)
		sy_die("%s: %s", path, strerror(errno));
	if (!yaml_parser_initialize(&parser))
		sy_die("out of memory");
	yaml_parser_set_input_file(&parser, file);
	if (!yaml_parser_load(&parser, &document))
		sy_die("%s:%zu: %s", path, parser.problem_mark.line + 1, parser.problem);
	sy_world.cpu_nodes = 1;
	sy_world.first_render = 128;
	read_root(yaml_document_get_root_node(&document));
	give_all_minors();
	yaml_document_delete(&document);
	yaml_parser_delete(&parser);
	fclose(file);
}
