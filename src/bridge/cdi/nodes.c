/* SPDX-License-Identifier: Apache-2.0 */
/* Finds device nodes in /proc and /sys. */
#include "bridge/cdi/nodes.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GPUS "driver/nvidia/gpus"
#define CAPABILITIES "driver/nvidia/capabilities"
#define MIG_MINORS "driver/nvidia-caps/mig-minors"
#define FILE_MAX_BYTES (1u << 20)

static const char *procfs(void)
{
	const char *folder = getenv("CLEAVE_PROCFS");

	return folder ? folder : "/proc";
}

static const char *sysfs(void)
{
	const char *folder = getenv("CLEAVE_SYSFS");

	return folder ? folder : "/sys";
}

/* Where the nodes of a device are added. */
struct places {
	const struct clv_cdi_root *root;
	json_t *nodes;
};

static bool add(const struct places *to, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds the node if it exists.  Returns whether it does. */
static bool add(const struct places *to, const char *format, ...)
{
	const char *host = to->root->host;
	char path[256], real[1024];
	struct stat st;
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (stat(path, &st) == 0)
		return json_array_append_new(
			       to->nodes, json_pack("{s:s}", "path", path)) == 0;
	snprintf(real, sizeof(real), "%s%s", to->root->here, path);
	if (host[0] == '\0' || stat(real, &st) < 0)
		return false;
	snprintf(real, sizeof(real), "%s%s", host, path);
	return json_array_append_new(to->nodes,
		       json_pack("{s:s,s:s}", "path", path, "hostPath", real)) == 0;
}

/* Reads what follows the key in a file below /proc; false: there is no such file or key.
 */
static bool read_value(const char *path, const char *key, char *ret, size_t ret_bytes)
{
	_cleanup_free_ char *text = NULL;
	const char *line;
	char real[1024];

	snprintf(real, sizeof(real), "%s/%s", procfs(), path);
	if (clv_file_read_all(real, FILE_MAX_BYTES, &text, NULL, NULL) < 0)
		return false;
	line = strstr(text, key);
	if (!line)
		return false;
	line += strlen(key);
	line += strspn(line, ": \t");
	snprintf(ret, ret_bytes, "%.*s", (int)strcspn(line, "\n"), line);
	return true;
}

/* The minor number of the GPU with this UUID, or -1. */
static int find_minor(const char *uuid)
{
	char path[512], value[128];
	struct dirent *entry;
	int minor = -1;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/" GPUS, procfs());
	folder = opendir(path);
	while (folder && minor < 0 && (entry = readdir(folder))) {
		snprintf(path, sizeof(path), GPUS "/%.64s/information", entry->d_name);
		if (entry->d_name[0] != '.' &&
			read_value(path, "GPU UUID", value, sizeof(value)) &&
			strcmp(value, uuid) == 0 &&
			read_value(path, "Device Minor", value, sizeof(value)))
			minor = atoi(value);
	}
	if (folder)
		closedir(folder);
	return minor;
}

/* name: that of the capability in both files, such as "gi1/ci0/access". */
static bool add_capability(const struct places *to, int gpu, const char *name)
{
	char path[256], key[128], value[32];

	snprintf(path, sizeof(path), CAPABILITIES "/gpu%d/mig/%s", gpu, name);
	snprintf(key, sizeof(key), "gpu%d/%s ", gpu, name);
	if (!read_value(path, "DeviceFileMinor", value, sizeof(value)) &&
		!read_value(MIG_MINORS, key, value, sizeof(value)))
		return false;
	return add(to, "/dev/nvidia-caps/nvidia-cap%d", atoi(value));
}

/* instances: "GI/CI", the partition's address. */
static bool add_mig(const struct places *to, int gpu, const char *instances)
{
	char instance[64], part[64];
	int gi, ci;

	if (sscanf(instances, "%d/%d", &gi, &ci) != 2)
		return false;
	snprintf(instance, sizeof(instance), "gi%d/access", gi);
	snprintf(part, sizeof(part), "gi%d/ci%d/access", gi, ci);
	return add_capability(to, gpu, instance) && add_capability(to, gpu, part);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool add_nvidia(const struct places *to, const json_t *device)
{
	const json_t *partition = json_object_get(device, "partition");
	int minor = find_minor(text_of(device, "root_uuid"));

	if (minor < 0 || !add(to, "/dev/nvidia%d", minor))
		return false;
	if (json_is_object(partition) &&
		!add_mig(to, minor, text_of(partition, "address")))
		return false;
	add(to, "/dev/nvidia-modeset");
	add(to, "/dev/nvidia-uvm");
	add(to, "/dev/nvidia-uvm-tools");
	return add(to, "/dev/nvidiactl");
}

static bool add_amd(const struct places *to, const json_t *device)
{
	const char *own = text_of(json_object_get(device, "partition"), "address");
	bool has_node = false;
	struct dirent *entry;
	char path[512];
	DIR *folder;

	if (!add(to, "/dev/kfd"))
		return false;
	if (strncmp(own, "renderD", 7) == 0)
		return add(to, "/dev/dri/%s", own);
	snprintf(path, sizeof(path), "%.400s/bus/pci/devices/%.32s/drm", sysfs(),
		text_of(device, "pci_address"));
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, "renderD", 7) == 0)
			has_node = add(to, "/dev/dri/%.32s", entry->d_name) || has_node;
	}
	if (folder)
		closedir(folder);
	return has_node;
}

static const struct {
	const char *backend, *remedy;
	bool (*add)(const struct places *to, const json_t *device);
} backends[] = {
	{"nvidia",
		"load the driver (nvidia-modprobe -u), or name the folder of its "
		"installation in driver-root",
		add_nvidia},
	{"amd", "load the driver amdgpu", add_amd},
};

int clv_cdi_nodes(const json_t *device, const struct clv_cdi_root *root, json_t *nodes,
	struct clv_error *err)
{
	const struct places to = {root, nodes};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(backends); i++) {
		if (strcmp(backends[i].backend, text_of(device, "backend")) != 0 ||
			backends[i].add(&to, device))
			continue;
		return clv_error_set(err, -ENODEV,
			"%.80s has no device node in /dev, so that a container could not "
			"use it: %s",
			text_of(device, "name"), backends[i].remedy);
	}
	return 0;
}
