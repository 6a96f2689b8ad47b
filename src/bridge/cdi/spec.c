/* SPDX-License-Identifier: Apache-2.0 */
/* Generates CDI files from leases. */
#include "bridge/cdi/spec.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/paths.h"
#include "bridge/cdi/driver.h"
#include "bridge/cdi/vendor.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define OPENCL_IN_CONTAINER CLV_CDI_GATES "/" CLV_GATE_OPENCL

/* Lists of the libraries to preload into each program of a container, by the backend of
 * the lease's device.  The files are beside the gates. */
static const struct {
	const char *backend, *list;
} preloads[] = {
	{"nvidia", "preload-cuda"}, {"amd", "preload-hip"},
	{"", "preload-opencl"}, /* any other */
};

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

bool clv_cdi_is_eligible(const json_t *lease)
{
	return json_is_true(json_object_get(lease, "kept")) &&
	       strcmp(text_of(lease, "admit"), "socket") == 0 &&
	       strcmp(text_of(lease, "state"), "active") == 0;
}

static bool is_unique(const json_t *leases, const json_t *lease)
{
	const json_t *other;
	size_t i;

	json_array_foreach (leases, i, other) {
		if (other != lease && clv_cdi_is_eligible(other) &&
			strcmp(text_of(other, "name"), text_of(lease, "name")) == 0)
			return false;
	}
	return true;
}

/* CDI allows letters, digits and "_-.:", and a letter or digit at both ends. */
static void make_legal(char *name)
{
	for (char *p = name; *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr("_-.:", *p))
			*p = '-';
	}
	for (size_t n = strlen(name); n > 0 && !isalnum((unsigned char)name[n - 1]); n--)
		name[n - 1] = '\0';
	while (*name && !isalnum((unsigned char)*name))
		memmove(name, name + 1, strlen(name));
}

void clv_cdi_name(const json_t *leases, const json_t *lease, char ret[CLV_CDI_NAME_MAX])
{
	bool is_alone = is_unique(leases, lease);

	snprintf(ret, CLV_CDI_NAME_MAX, "%s%s%s",
		is_alone ? "" : text_of(lease, "tenant"), is_alone ? "" : ".",
		text_of(lease, "name"));
	make_legal(ret);
	if (ret[0] == '\0')
		snprintf(ret, CLV_CDI_NAME_MAX, "%s", text_of(lease, "id"));
}

static json_t *mount(const char *from, const char *to)
{
	return json_pack("{s:s,s:s,s:[s,s,s,s]}", "hostPath", from, "containerPath", to,
		"options", "rbind", "ro", "nosuid", "nodev");
}

const char *clv_cdi_preload(const char *backend)
{
	size_t i = 0;

	while (preloads[i].backend[0] && strcmp(preloads[i].backend, backend) != 0)
		i++;
	return preloads[i].list;
}

static const char *preload_of(const json_t *lease)
{
	const json_t *device = json_array_get(json_object_get(lease, "devices"), 0);

	return clv_cdi_preload(text_of(device, "backend"));
}

/* Mounts of one lease: the folder of its socket, and /etc/ld.so.preload, which loads the
 * gates independent of the environment.  The folder is there twice, because a container
 * may have several leases, of which only one can be in the first place. */
static json_t *mounts_of(
	const json_t *lease, const char *name, const struct clv_cdi_host *host)
{
	const char *socket = text_of(lease, "socket"), *slash = strrchr(socket, '/');
	json_t *mounts = json_array();
	char path[CLV_PATH_MAX + 32], place[sizeof(CLV_PATH_LEASES) + CLV_CDI_NAME_MAX];

	snprintf(path, sizeof(path), "%.*s", slash ? (int)(slash - socket) : 0, socket);
	snprintf(place, sizeof(place), CLV_PATH_LEASES "/%s", name);
	json_array_append_new(mounts, mount(path, CLV_CDI_SOCKET_FOLDER));
	json_array_append_new(mounts, mount(path, place));
	snprintf(path, sizeof(path), "%s/%s", host->gates, preload_of(lease));
	json_array_append_new(mounts, mount(path, "/etc/ld.so.preload"));
	return mounts;
}

/* The vendor's hooks are before cleave's, which covers what they may have mounted. */
static int make_edits(const json_t *lease, const char *name,
	const struct clv_cdi_host *host, json_t **ret, struct clv_error *err)
{
	json_t *edits = NULL, *own;
	int r = clv_cdi_driver_edits(host->driver, lease, &edits, err);

	if (r < 0)
		return r;
	own = json_pack("{s:o,s:[{s:s,s:s,s:[s,s]}]}", "mounts",
		mounts_of(lease, name, host), "hooks", "hookName", "createContainer",
		"path", host->hook, "args", CLV_CDI_HOOK, preload_of(lease));
	clv_cdi_append(edits, own);
	json_decref(own);
	*ret = edits;
	return 0;
}

/* Edits that are made once for a container, for all its devices.  NVIDIA's runtime would
 * add all GPUs to a container whose image asks for them, as those of CUDA do. */
static json_t *common_edits(const struct clv_cdi_host *host)
{
	return json_pack("{s:[s,s,s,s],s:[o]}", "env",
		"CLEAVE_LEASE=" CLV_CDI_SOCKET_FOLDER "/lease.sock",
		"OPENCL_LAYERS=" OPENCL_IN_CONTAINER,
		"OCL_ICD_LAYERS=" OPENCL_IN_CONTAINER, CLV_CDI_NO_VENDOR, "mounts",
		mount(host->gates, CLV_CDI_GATES));
}

/* --- The version (SPEC.md, "Released versions") --- */

/* What needs a later version of CDI than 0.3.0, the latest first. */
static const struct {
	const char *version, *list,
		*key; /* key: of an item of the list; NULL: any item */
} features[] = {
	{"1.1.0", "netDevices", NULL},
	{"0.7.0", "additionalGids", NULL},
	{"0.7.0", "intelRdt", NULL},
	{"0.5.0", "deviceNodes", "hostPath"},
	{"0.4.0", "mounts", "type"},
};

static bool has_feature(const json_t *edits, const char *list, const char *key)
{
	const json_t *items = json_object_get(edits, list), *item;
	size_t i;

	if (!key)
		return items != NULL;
	json_array_foreach (items, i, item) {
		if (json_object_get(item, key))
			return true;
	}
	return false;
}

/* A device's name may begin with a digit since 0.5.0. */
static const char *lowest_version(const json_t *devices)
{
	const char *lowest = "0.3.0";
	const json_t *device;
	size_t i;

	json_array_foreach (devices, i, device) {
		const json_t *edits = json_object_get(device, "containerEdits");
		bool is_numbered = isdigit((unsigned char)text_of(device, "name")[0]);

		if (is_numbered && strcmp(lowest, "0.5.0") < 0)
			lowest = "0.5.0";
		for (size_t k = 0; k < CLV_ARRAY_SIZE(features); k++) {
			if (strcmp(features[k].version, lowest) > 0 &&
				has_feature(edits, features[k].list, features[k].key))
				lowest = features[k].version;
		}
	}
	return lowest;
}

static json_t *make_spec(json_t *devices, json_t *common)
{
	return json_pack("{s:s,s:s,s:o,s:o}", "cdiVersion", lowest_version(devices),
		"kind", CLV_CDI_KIND, "devices", devices, "containerEdits", common);
}

int clv_cdi_spec(const json_t *leases, const struct clv_cdi_host *host, json_t **ret,
	struct clv_error *err)
{
	json_t *devices = json_array(), *edits, *spec;
	const json_t *lease;
	int n_left_out = 0;
	size_t i;

	json_array_foreach (leases, i, lease) {
		char name[CLV_CDI_NAME_MAX];

		if (!clv_cdi_is_eligible(lease))
			continue;
		clv_cdi_name(leases, lease, name);
		if (make_edits(lease, name, host, &edits, err) < 0)
			n_left_out++;
		else
			json_array_append_new(
				devices, json_pack("{s:s,s:o}", "name", name,
						 "containerEdits", edits));
	}
	spec = make_spec(devices, common_edits(host));
	if (!spec)
		return clv_error_errno(err, ENOMEM, "cannot write the specification");
	*ret = spec;
	return n_left_out;
}

int clv_cdi_spec_without_lease(struct clv_cdi_driver *driver, const char *name,
	const json_t *device, json_t **ret, struct clv_error *err)
{
	json_t *lease = json_pack("{s:[O]}", "devices", device), *edits = NULL;
	int r = clv_cdi_driver_edits(driver, lease, &edits, err);

	json_decref(lease);
	if (r < 0)
		return r;
	*ret = NULL;
	if (json_object_size(edits) == 0) {
		json_decref(edits);
		return 0;
	}
	*ret = make_spec(json_pack("[{s:s,s:o}]", "name", name, "containerEdits", edits),
		json_pack("{s:[s]}", "env", CLV_CDI_NO_VENDOR));
	return *ret ? 0 : clv_error_errno(err, ENOMEM, "cannot write the specification");
}
