/* SPDX-License-Identifier: Apache-2.0 */
/* Finds device nodes in /proc and /sys. */
#include "bridge/cdi/nodes.h"

#include "base/cleanup.h"
#include "base/file.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GPUS "/proc/driver/nvidia/gpus"
#define CAPABILITIES "/proc/driver/nvidia/capabilities"
#define FILE_MAX_BYTES 65536

static const char *root = "";

void clv_cdi_nodes_set_root(const char *folder)
{
	root = folder ? folder : "";
}

static void add(json_t *nodes, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds the node if it exists. */
static void add(json_t *nodes, const char *format, ...)
{
	char path[256], real[512];
	struct stat st;
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	snprintf(real, sizeof(real), "%s%s", root, path);
	if (stat(real, &st) == 0)
		json_array_append_new(nodes, json_pack("{s:s}", "path", path));
}

/* The value of a line such as "Device Minor:   0"; false: there is no such line. */
static bool read_value(const char *path, const char *key, char *ret, size_t ret_bytes)
{
	_cleanup_free_ char *text = NULL;
	const char *line;
	char real[512];

	snprintf(real, sizeof(real), "%s%s", root, path);
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

	snprintf(path, sizeof(path), "%s" GPUS, root);
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

static void add_capability(json_t *nodes, const char *path)
{
	char value[32];

	if (read_value(path, "DeviceFileMinor", value, sizeof(value)))
		add(nodes, "/dev/nvidia-caps/nvidia-cap%d", atoi(value));
}

/* instances: "GI/CI", the partition's address. */
static void add_mig(json_t *nodes, int minor, const char *instances)
{
	char path[256];
	int gi, ci;

	if (sscanf(instances, "%d/%d", &gi, &ci) != 2)
		return;
	snprintf(path, sizeof(path), CAPABILITIES "/gpu%d/mig/gi%d/access", minor, gi);
	add_capability(nodes, path);
	snprintf(path, sizeof(path), CAPABILITIES "/gpu%d/mig/gi%d/ci%d/access", minor,
		gi, ci);
	add_capability(nodes, path);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void add_nvidia(json_t *nodes, const json_t *device)
{
	const json_t *partition = json_object_get(device, "partition");
	int minor = find_minor(text_of(device, "root_uuid"));

	if (minor < 0)
		return;
	add(nodes, "/dev/nvidia%d", minor);
	if (json_is_object(partition))
		add_mig(nodes, minor, text_of(partition, "address"));
	add(nodes, "/dev/nvidiactl");
	add(nodes, "/dev/nvidia-uvm");
	add(nodes, "/dev/nvidia-uvm-tools");
}

static void add_amd(json_t *nodes, const json_t *device)
{
	const char *own = text_of(json_object_get(device, "partition"), "address");
	char path[512];
	struct dirent *entry;
	DIR *folder;

	add(nodes, "/dev/kfd");
	if (strncmp(own, "renderD", 7) == 0) {
		add(nodes, "/dev/dri/%s", own);
		return;
	}
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%.32s/drm", root,
		text_of(device, "pci_address"));
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, "renderD", 7) == 0)
			add(nodes, "/dev/dri/%.32s", entry->d_name);
	}
	if (folder)
		closedir(folder);
}

static const struct {
	const char *backend;
	void (*add)(json_t *nodes, const json_t *device);
} backends[] = {
	{"nvidia", add_nvidia},
	{"amd", add_amd},
};

static void drop_repeated(json_t *nodes)
{
	for (size_t i = 0; i < json_array_size(nodes); i++) {
		for (size_t k = json_array_size(nodes); k-- > i + 1;) {
			if (json_equal(
				    json_array_get(nodes, i), json_array_get(nodes, k)))
				json_array_remove(nodes, k);
		}
	}
}

json_t *clv_cdi_nodes(const json_t *lease)
{
	json_t *nodes = json_array();
	const json_t *device;
	size_t i;

	json_array_foreach (json_object_get(lease, "devices"), i, device) {
		for (size_t k = 0; k < CLV_ARRAY_SIZE(backends); k++) {
			if (strcmp(backends[k].backend, text_of(device, "backend")) == 0)
				backends[k].add(nodes, device);
		}
	}
	drop_repeated(nodes);
	return nodes;
}
