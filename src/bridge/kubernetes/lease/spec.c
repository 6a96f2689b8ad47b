/* SPDX-License-Identifier: Apache-2.0 */
/* Writes, removes and lists CDI files in the folder of the settings. */
#include "bridge/kubernetes/lease/spec.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "bridge/cdi/driver.h"
#include "bridge/cdi/spec.h"
#include "bridge/cdi/vendor.h"
#include "bridge/kubernetes/resource/desired.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_MAX_BYTES (CLV_KUBE_PATH_MAX + 128)
#define SPEC_MAX_BYTES (1u << 20)
#define LINKS "k8s" /* the folder of links, beside the agent's socket */
#define VENDORS "/etc/OpenCL/vendors"

void clv_kube_spec_name(const char *lease, char ret[CLV_KUBE_NAME_MAX + 32])
{
	snprintf(ret, CLV_KUBE_NAME_MAX + 32, CLV_CDI_KIND "=%s", lease);
}

static void find_path(const struct clv_kube_settings *settings, const char *lease,
	char ret[PATH_MAX_BYTES])
{
	snprintf(ret, PATH_MAX_BYTES, "%s/cleave-%s.json", settings->cdi, lease);
}

static bool is_there(const char *path, const char *text)
{
	_cleanup_free_ char *old = NULL;

	return clv_file_read_all(path, SPEC_MAX_BYTES, &old, NULL, NULL) >= 0 &&
	       strcmp(old, text) == 0;
}

static int write_spec(const struct clv_kube_settings *settings, const char *name,
	const json_t *spec, struct clv_error *err)
{
	_cleanup_free_ char *text = spec ? json_dumps(spec, JSON_COMPACT) : NULL;
	char path[PATH_MAX_BYTES];
	int r;

	if (!text)
		return clv_error_errno(err, ENOMEM, "cannot write a CDI spec");
	find_path(settings, name, path);
	if (is_there(path, text))
		return 0;
	r = clv_path_make(settings->cdi, 0755, err);
	/* It is written again before a container starts, so calls of kubelet do not wait
	 * for the disk. */
	return r < 0 ? r : clv_file_replace_unsynced(path, text, err);
}

int clv_kube_spec_write(const struct clv_kube_settings *settings,
	struct clv_cdi_driver *driver, const struct json_t *lease, struct clv_error *err)
{
	const char *name = json_string_value(json_object_get(lease, "name"));
	const struct clv_cdi_host host = {settings->gates, settings->hook, driver};
	json_t *leases = json_pack("[O]", lease), *spec = NULL;
	struct clv_error why = {};
	int r;

	r = name ? clv_cdi_spec(leases, &host, &spec, &why)
		 : clv_error_set(&why, -EBADMSG, "the agent's lease has no name");
	json_decref(leases);
	if (r == 0)
		r = write_spec(settings, name, spec, err);
	else
		r = clv_error_set(err, why.code, "%s", why.msg);
	json_decref(spec);
	return r;
}

int clv_kube_spec_write_device(const struct clv_kube_settings *settings, const char *name,
	const struct json_t *device, struct clv_error *err)
{
	struct clv_cdi_driver *driver = NULL;
	json_t *spec = NULL;
	int r = clv_cdi_driver_new(settings->driver_root, settings->cdi, &driver, err);

	if (r >= 0)
		r = clv_cdi_spec_without_lease(driver, name, device, &spec, err);
	if (r >= 0 && spec) {
		r = write_spec(settings, name, spec, err);
		r = r < 0 ? r : 1;
	}
	json_decref(spec);
	clv_cdi_driver_free(driver);
	return r;
}

/* --- Without CDI --- */

/* lease: its name; "": the folder of all links. */
static void find_link(const struct clv_kube_settings *settings, const char *lease,
	char ret[PATH_MAX_BYTES])
{
	const char *agent = settings->agent, *slash = strrchr(agent, '/');

	snprintf(ret, PATH_MAX_BYTES, "%.*s/" LINKS "%s%s",
		slash ? (int)(slash - agent) : (int)strlen(CLV_PATH_SYSTEM_RUNTIME),
		slash ? agent : CLV_PATH_SYSTEM_RUNTIME, lease[0] ? "/" : "", lease);
}

static int replace_link(const char *path, const char *target)
{
	char old[CLV_PATH_MAX], new_path[PATH_MAX_BYTES + 8];
	ssize_t n = readlink(path, old, sizeof(old) - 1);

	if (n >= 0 && (size_t)n == strlen(target) && memcmp(old, target, (size_t)n) == 0)
		return 0;
	snprintf(new_path, sizeof(new_path), "%s.new", path);
	unlink(new_path);
	if (symlink(target, new_path) < 0 || rename(new_path, path) < 0)
		return -errno;
	return 0;
}

int clv_kube_spec_link(const struct clv_kube_settings *settings,
	const struct json_t *lease, struct clv_error *err)
{
	const char *name = json_string_value(json_object_get(lease, "name"));
	const char *socket = json_string_value(json_object_get(lease, "socket"));
	const char *slash = socket ? strrchr(socket, '/') : NULL;
	char path[PATH_MAX_BYTES], folder[CLV_PATH_MAX];
	int r;

	if (!name || !slash)
		return clv_error_set(err, -EBADMSG, "the agent's lease has no socket");
	find_link(settings, "", path);
	r = clv_path_make(path, 0755, err);
	if (r < 0)
		return r;
	find_link(settings, name, path);
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - socket), socket);
	r = replace_link(path, folder);
	return r < 0 ? clv_error_errno(err, -r, "cannot make the link %s", path) : 0;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void append_mount(json_t *mounts, const char *from, const char *to)
{
	json_array_append_new(
		mounts, json_pack("{s:s,s:s}", "hostPath", from, "containerPath", to));
}

/* What the hook does with the vendors of an image is done with those of the driver. */
static void cover_vendors(
	const struct clv_kube_settings *settings, json_t *mounts, const char *vendor)
{
	char path[PATH_MAX_BYTES];

	snprintf(path, sizeof(path), "%s/vendors", settings->gates);
	append_mount(mounts, path, VENDORS);
	snprintf(
		path, sizeof(path), "%.*s", (int)(strrchr(vendor, '/') - vendor), vendor);
	append_mount(mounts, path, CLV_CDI_GATES "/vendors.real");
}

/* Both places of the lease's folder in the container. */
static bool is_lease_folder(const char *path)
{
	return strcmp(path, CLV_CDI_SOCKET_FOLDER) == 0 ||
	       strncmp(path, CLV_PATH_LEASES "/", strlen(CLV_PATH_LEASES "/")) == 0;
}

static json_t *make_plain(
	const struct clv_kube_settings *settings, const char *lease, const json_t *mounts)
{
	json_t *plain = json_array();
	char link[PATH_MAX_BYTES];
	const json_t *mount;
	size_t i;

	find_link(settings, lease, link);
	json_array_foreach (mounts, i, mount) {
		const char *to = text_of(mount, "containerPath");
		const char *from = text_of(mount, "hostPath");

		if (strncmp(to, VENDORS "/", strlen(VENDORS "/")) == 0)
			cover_vendors(settings, plain, from);
		else
			append_mount(plain, is_lease_folder(to) ? link : from, to);
	}
	return plain;
}

int clv_kube_spec_edits(const struct clv_kube_settings *settings, const char *lease,
	struct json_t **ret, struct clv_error *err)
{
	char path[PATH_MAX_BYTES];
	json_t *spec, *device, *edits = json_object();

	find_path(settings, lease, path);
	spec = json_load_file(path, 0, NULL);
	device = json_array_get(json_object_get(spec, "devices"), 0);
	if (!device) {
		json_decref(spec);
		json_decref(edits);
		return clv_error_set(err, -EBADMSG,
			"%s, which was written just now, has no device", path);
	}
	clv_cdi_append(edits, json_object_get(spec, "containerEdits"));
	clv_cdi_append(edits, json_object_get(device, "containerEdits"));
	json_object_set_new(edits, "mounts",
		make_plain(settings, lease, json_object_get(edits, "mounts")));
	json_decref(spec);
	*ret = edits;
	return 0;
}

void clv_kube_spec_remove(const struct clv_kube_settings *settings, const char *lease)
{
	char path[PATH_MAX_BYTES];

	find_path(settings, lease, path);
	unlink(path);
	find_link(settings, lease, path);
	unlink(path);
}

#define FILE_PREFIX "cleave-"
#define FILE_ENDING ".json"

/* Reads the lease from the file's name; false: the file is not of a container's lease. */
static bool read_name(const char *file, char ret[CLV_KUBE_LEASE_MAX])
{
	size_t n_prefix = strlen(FILE_PREFIX), n = strlen(file);
	size_t n_ending = strlen(FILE_ENDING);

	if (strncmp(file, FILE_PREFIX CLV_KUBE_LEASE_PREFIX,
		    strlen(FILE_PREFIX CLV_KUBE_LEASE_PREFIX)) != 0 ||
		n < n_prefix + n_ending ||
		strcmp(file + n - n_ending, FILE_ENDING) != 0 ||
		n - n_prefix - n_ending >= CLV_KUBE_LEASE_MAX)
		return false;
	snprintf(ret, CLV_KUBE_LEASE_MAX, "%.*s", (int)(n - n_prefix - n_ending),
		file + n_prefix);
	return true;
}

void clv_kube_spec_sweep(const struct clv_kube_settings *settings,
	bool (*is_wanted)(const char *lease, const void *userdata), const void *userdata)
{
	DIR *folder = opendir(settings->cdi);
	const struct dirent *file;
	char lease[CLV_KUBE_LEASE_MAX];

	while (folder && (file = readdir(folder))) {
		if (read_name(file->d_name, lease) && !is_wanted(lease, userdata))
			clv_kube_spec_remove(settings, lease);
	}
	if (folder)
		closedir(folder);
}
