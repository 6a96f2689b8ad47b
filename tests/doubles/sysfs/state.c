/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include "driver.h"
#include "state.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATE(name, member, kind) SY_FIELD(struct sy_function, name, member, kind, NULL)

static const struct sy_field common[] = {
	STATE("present", is_present, SY_NUMBER),
	STATE("numvfs", numvfs, SY_NUMBER),
	STATE("autoprobe", autoprobe, SY_NUMBER),
	STATE("group", group, SY_NUMBER),
	STATE("driver", driver, SY_STRING),
	STATE("driver_override", driver_override, SY_STRING),
};

static char path[512];
static struct sy_text last;

void sy_state_init(const char *control)
{
	sy_print(path, sizeof(path), "%s/state", control);
}

static void add_fields(struct sy_text *text, const struct sy_function *f,
	const struct sy_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (sy_field_is_zero(f, &fields[i]))
			continue;
		sy_add(text, "%s %s ", f->bdf, fields[i].name);
		sy_field_get(f, &fields[i], text);
		sy_add(text, "\n");
	}
}

static struct sy_text compose(void)
{
	struct sy_text text = {0};

	sy_add(&text, "kfd generation %" PRIu64 "\n", sy_world.kfd_generation);
	for (size_t i = 0; sy_drivers[i].name; i++)
		sy_add(&text, "driver %s %d\n", sy_drivers[i].name,
			sy_drivers[i].is_loaded);
	for (struct sy_function *f = NULL; (f = sy_next(f));) {
		add_fields(&text, f, common, SY_COUNT(common));
		add_fields(&text, f, f->family->state, f->family->n_state);
	}
	for (struct sy_mdev *m = sy_world.mdevs; m; m = m->next)
		sy_add(&text, "mdev %s %s %" PRIu64 " %" PRIu64 "\n", m->uuid,
			m->parent->bdf, m->type, m->group);
	return text;
}

void sy_state_save(void)
{
	struct sy_text text = compose();
	char other[600];
	FILE *file;

	if (last.data && strcmp(last.data, text.data) == 0) {
		sy_text_free(&text);
		return;
	}
	sy_print(other, sizeof(other), "%s.new", path);
	file = fopen(other, "we");
	if (!file || fwrite(text.data, 1, text.used, file) != text.used || fclose(file) ||
		rename(other, path) < 0)
		sy_die("%s: %s", path, strerror(errno));
	sy_text_free(&last);
	last = text;
}

static const struct sy_field *field_named(
	const struct sy_field *fields, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	}
	return NULL;
}

static struct sy_function *any_function(const char *bdf)
{
	for (struct sy_function *f = NULL; (f = sy_next(f));) {
		if (strcmp(f->bdf, bdf) == 0)
			return f;
	}
	return NULL;
}

static bool load_field(const char *bdf, const char *name, const char *value)
{
	struct sy_function *f = any_function(bdf);
	const struct sy_field *field;

	if (!f)
		return false;
	field = field_named(common, SY_COUNT(common), name);
	if (!field)
		field = field_named(f->family->state, f->family->n_state, name);
	return field && sy_field_set(f, field, value) == 0;
}

static bool load_mdev(const char *uuid, const char *rest)
{
	struct sy_mdev **end = &sy_world.mdevs, *m = sy_alloc(1, sizeof(*m));
	char bdf[SY_BDF];

	while (*end)
		end = &(*end)->next;
	*end = m;
	sy_print(m->uuid, sizeof(m->uuid), "%s", uuid);
	if (sscanf(rest, "%15s %" SCNu64 " %" SCNu64, bdf, &m->type, &m->group) != 3)
		return false;
	m->parent = any_function(bdf);
	return m->parent != NULL;
}

static bool load_driver(const char *name, const char *value)
{
	struct sy_driver *driver = sy_driver_find(name);

	if (driver)
		driver->is_loaded = strcmp(value, "1") == 0;
	return driver != NULL;
}

static bool load_line(char *line)
{
	char subject[64], name[64];
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%63s %63s %n", subject, name, &at) != 2 || !at)
		return false;
	if (strcmp(subject, "kfd") == 0)
		return sy_parse(line + at, UINT64_MAX, &sy_world.kfd_generation) == 0;
	if (strcmp(subject, "driver") == 0)
		return load_driver(name, line + at);
	if (strcmp(subject, "mdev") == 0)
		return load_mdev(name, line + at);
	return load_field(subject, name, line + at);
}

/* The file has only the values that are not zero, so all are cleared first. */
static void forget(void)
{
	sy_world_power_on();
	for (struct sy_function *f = NULL; (f = sy_next(f));) {
		for (size_t i = 0; i < SY_COUNT(common); i++)
			memset((char *)f + common[i].offset, 0, common[i].size);
		for (size_t i = 0; i < f->family->n_state; i++)
			memset((char *)f + f->family->state[i].offset, 0,
				f->family->state[i].size);
	}
}

bool sy_state_load(void)
{
	FILE *file = fopen(path, "re");
	char line[256];

	if (!file)
		return false;
	forget();
	while (fgets(line, sizeof(line), file)) {
		if (!load_line(line))
			sy_die("%s: cannot read: %s", path, line);
	}
	fclose(file);
	sy_world.has_changed = true;
	return true;
}
