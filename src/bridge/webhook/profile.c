/* SPDX-License-Identifier: Apache-2.0 */
/* Reads share profiles from the files of a folder. */
#include "bridge/webhook/profile.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "base/yaml.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARE_MOST 100u

static int read_share(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_number(value, 1, SHARE_MOST, into, err);
}

static int read_memory(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	int r = clv_units_parse_bytes(clv_yaml_text(value), into, err);

	return r < 0 ? clv_yaml_prefix_position(value, err) : 0;
}

static const struct clv_yaml_field fields[] = {
	{"share", read_share, false, offsetof(struct clv_webhook_profile, share)},
	{"memory", read_memory, false,
		offsetof(struct clv_webhook_profile, memory_bytes)},
};

/* The keys of a ConfigMap.  Kubelet's own files in a mounted one begin with dots. */
static bool is_name(const char *name)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz0123456789-_.";

	return name[0] != '\0' && name[0] != '.' && strspn(name, allowed) == strlen(name);
}

static int is_listed(const struct dirent *entry)
{
	return is_name(entry->d_name);
}

static int fail_unknown(const char *folder, const char *name, struct clv_error *err)
{
	struct dirent **entries = NULL;
	int n = folder ? scandir(folder, &entries, is_listed, alphasort) : 0;
	char known[256] = "";

	for (int i = 0; i < n; i++) {
		clv_text_list(known, sizeof(known), entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return clv_error_set(err, -ENOENT, "there is no share profile %.64s: %s%s", name,
		known[0] ? "there are " : "the cluster has none", known);
}

int clv_webhook_profile_read(void *userdata, const char *name,
	struct clv_webhook_profile *ret, struct clv_error *err)
{
	struct clv_webhook_profile profile = {0};
	struct clv_yaml *yaml = NULL;
	char path[4096];
	int r;

	if (!userdata || !is_name(name) ||
		snprintf(path, sizeof(path), "%s/%s", (const char *)userdata, name) >=
			(int)sizeof(path))
		return fail_unknown(userdata, name, err);
	r = clv_yaml_parse_file(path, &yaml, err);
	if (r == -ENOENT)
		return fail_unknown(userdata, name, err);
	if (r < 0)
		return r;
	r = clv_yaml_read_map(
		clv_yaml_root(yaml), fields, CLV_ARRAY_SIZE(fields), &profile, err);
	clv_yaml_free(yaml);
	if (r < 0)
		return r;
	if (profile.share == 0 && profile.memory_bytes == 0)
		return clv_error_set(err, -EINVAL,
			"the share profile %.64s has neither share nor memory", name);
	*ret = profile;
	return 0;
}
