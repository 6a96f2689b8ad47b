/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/identity/names.h"

#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "base/array.h"
#include "base/error.h"
#include "base/log.h"
#include "core/device/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	char uuid[sizeof(((struct clv_device *)NULL)->uuid)];
	char name[sizeof(((struct clv_device *)NULL)->name)];
	bool is_stored;
};

struct clv_names {
	struct clv_agent *agent;
	struct entry **items; /* separate, because names are lent */
	size_t n;
};

static struct entry *append(struct clv_names *names, const char *uuid, const char *name)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	struct entry **slot = entry ? CLV_APPEND(names->items, names->n) : NULL;

	if (!slot) {
		free(entry);
		return NULL;
	}
	snprintf(entry->uuid, sizeof(entry->uuid), "%s", uuid);
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	*slot = entry;
	return entry;
}

static int take_stored(void *userdata, const char *uuid, const char *name)
{
	struct entry *entry = append(userdata, uuid, name);

	if (!entry)
		return -ENOMEM;
	entry->is_stored = true;
	return 0;
}

int clv_names_new(struct clv_agent *agent, struct clv_names **ret, struct clv_error *err)
{
	struct clv_names *names = calloc(1, sizeof(*names));
	struct clv_error why = {0};
	struct clv_store *store;

	if (!names)
		return clv_error_errno(err, ENOMEM, "cannot keep the names of devices");
	names->agent = agent;
	store = clv_state_get_readable(agent, NULL);
	if (store && clv_store_read_names(store, take_stored, names, &why) < 0)
		clv_log_warning(0, "%s", why.msg);
	*ret = names;
	return 0;
}

struct clv_names *clv_names_free(struct clv_names *names)
{
	for (size_t i = 0; names && i < names->n; i++)
		free(names->items[i]);
	if (names)
		free(names->items);
	free(names);
	return NULL;
}

const char *clv_names_find(const struct clv_names *names, const char *uuid)
{
	for (size_t i = 0; i < names->n; i++) {
		if (strcmp(names->items[i]->uuid, uuid) == 0)
			return names->items[i]->name;
	}
	return NULL;
}

static bool is_given(const struct clv_names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++) {
		if (strcmp(names->items[i]->name, name) == 0)
			return true;
	}
	return false;
}

/* 0 also without a file, which is no news to anybody. */
static int store(struct clv_names *names, struct entry *entry, struct clv_error *err)
{
	struct clv_store *file = clv_state_get(names->agent, NULL);
	int r = file ? clv_store_put_name(file, entry->uuid, entry->name, err) : 0;

	entry->is_stored = file && r >= 0;
	return r;
}

const char *clv_names_give(struct clv_names *names, const char *uuid, const char *wanted)
{
	const char *known = clv_names_find(names, uuid);
	char name[sizeof(names->items[0]->name)];
	struct clv_error err = {0};
	unsigned int number = 0;
	struct entry *entry;

	if (known)
		return known;
	snprintf(name, sizeof(name), "%s", wanted);
	while (name[0] == '\0' || is_given(names, name))
		snprintf(name, sizeof(name), "gpu%u", number++);
	entry = append(names, uuid, name);
	if (!entry)
		return NULL;
	if (store(names, entry, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	return entry->name;
}

void clv_names_store(struct clv_names *names)
{
	for (size_t i = 0; i < names->n; i++) {
		if (!names->items[i]->is_stored &&
			store(names, names->items[i], NULL) < 0)
			return;
	}
}

json_t *clv_names_to_json(const struct clv_names *names)
{
	json_t *json = json_object();

	for (size_t i = 0; i < names->n; i++)
		json_object_set_new(
			json, names->items[i]->uuid, json_string(names->items[i]->name));
	return json;
}
