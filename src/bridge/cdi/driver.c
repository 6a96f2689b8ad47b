/* SPDX-License-Identifier: Apache-2.0 */
/* Finds NVIDIA's libraries below the root of the driver.  Each is mounted at the name by
 * which programs load it, in the folders that dynamic loaders search without a cache: so
 * no program needs to run in the container before.  AMD's libraries are in the images. */
#include "bridge/cdi/driver.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/cdi/nodes.h"
#include "bridge/cdi/soname.h"
#include "bridge/cdi/vendor.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#if defined(__aarch64__)
#define TRIPLE "aarch64-linux-gnu"
#else
#define TRIPLE "x86_64-linux-gnu"
#endif
#define MPS_PIPES "/tmp/nvidia-mps"

/* Folders of the driver below its root. */
static const char *const folders[] = {
	"/usr/lib64",
	"/usr/lib/" TRIPLE,
	"/usr/lib64/nvidia/current",
	"/usr/lib/" TRIPLE "/nvidia/current",
	"/lib64",
	"/lib/" TRIPLE,
};

/* Libraries for computing and for NVML; those that a driver does not have are left out.
 * The file's name ends with the driver's version, or is `file`. */
static const struct {
	const char *name, *file;
} libraries[] = {
	{"libcuda.so", NULL},
	{"libcudadebugger.so", NULL},
	{"libnvidia-allocator.so", NULL},
	{"libnvidia-cfg.so", NULL},
	{"libnvidia-compiler.so", NULL},        /* of OpenCL, before R470 */
	{"libnvidia-fatbinaryloader.so", NULL}, /* before R450 */
	{"libnvidia-gpucomp.so", NULL},         /* the compilers' common part */
	{"libnvidia-ml.so", NULL},              /* NVML */
	{"libnvidia-nscq.so", NULL},            /* the topology of NVSwitch */
	{"libnvidia-nvvm.so", NULL},            /* the compiler of OpenCL */
	{"libnvidia-nvvm70.so", "libnvidia-nvvm70.so.4"},
	{"libnvidia-opencl.so", NULL},
	{"libnvidia-pkcs11.so", NULL}, /* confidential computing */
	{"libnvidia-pkcs11-openssl3.so", NULL},
	{"libnvidia-ptxjitcompiler.so", NULL},
	{"libnvidia-tileiras.so", NULL},
};

/* Other files, at the same path in the container. */
static const char *const files[] = {
	"/usr/bin/nvidia-smi",
	"/etc/OpenCL/vendors/nvidia.icd",
};

struct clv_cdi_driver {
	char *host, *here; /* paths of the root; "": the root folder */
	char *specs[2];    /* folders of CDI files; the first is NULL: none is read */
	json_t *vendors;   /* what the vendors' CDI files have */
	uint64_t vendors_stamp;
	json_t *mounts; /* of NVIDIA's libraries */
	struct timespec mounts_stamp;
	char folder[PATH_MAX]; /* the folder of the libraries here; "": not found */
};

/* "/" becomes "", so that paths can be appended. */
static char *without_slash(const char *path)
{
	size_t n = strlen(path);

	while (n > 0 && path[n - 1] == '/')
		n--;
	return strndup(path, n);
}

CLV_DEFINE_CLEANUP(struct clv_cdi_driver *, clv_cdi_driver_free)

int clv_cdi_driver_new(const char *root, const char *specs, struct clv_cdi_driver **ret,
	struct clv_error *err)
{
	CLV_CLEANUP(clv_cdi_driver_freep)
	struct clv_cdi_driver *driver = calloc(1, sizeof(*driver));
	const char *here = getenv("CLEAVE_DRIVER_ROOT");

	if (!driver)
		return clv_error_errno(err, ENOMEM, "cannot describe devices");
	driver->host = without_slash(root);
	driver->here = without_slash(here && here[0] ? here : root);
	driver->specs[0] = specs ? strdup(specs) : NULL;
	if (!driver->host || !driver->here || (specs && !driver->specs[0]) ||
		asprintf(&driver->specs[1], "%s/etc/cdi", driver->here) < 0)
		return clv_error_errno(err, ENOMEM, "cannot describe devices");
	*ret = CLV_TAKE(driver);
	return 0;
}

struct clv_cdi_driver *clv_cdi_driver_free(struct clv_cdi_driver *driver)
{
	if (!driver)
		return NULL;

	json_decref(driver->vendors);
	json_decref(driver->mounts);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(driver->specs); i++)
		free(driver->specs[i]);
	free(driver->host);
	free(driver->here);
	free(driver);
	return NULL;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* --- NVIDIA's libraries --- */

/* from: a path below the root. */
static void add_mount(struct clv_cdi_driver *driver, const char *from, const char *to)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s%s", driver->host, from) < 0)
		return;
	json_array_append_new(driver->mounts,
		json_pack("{s:s,s:s,s:[s,s,s,s]}", "hostPath", path, "containerPath", to,
			"options", "rbind", "ro", "nosuid", "nodev"));
}

static void add_library(struct clv_cdi_driver *driver, const char *folder,
	const char *file, const char *name)
{
	static const char *const into[] = {"/usr/lib/" TRIPLE, "/usr/lib64"};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(into); i++) {
		char from[PATH_MAX], to[PATH_MAX];

		snprintf(from, sizeof(from), "%s/%s", folder, file);
		snprintf(to, sizeof(to), "%s/%s", into[i], name);
		add_mount(driver, from, to);
	}
}

static void add_libraries(
	struct clv_cdi_driver *driver, const char *folder, const char *version)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(libraries); i++) {
		char file[NAME_MAX + 1], path[2 * PATH_MAX], name[NAME_MAX + 1];
		struct stat st;

		if (libraries[i].file)
			snprintf(file, sizeof(file), "%s", libraries[i].file);
		else
			snprintf(file, sizeof(file), "%.40s.%.200s", libraries[i].name,
				version);
		snprintf(path, sizeof(path), "%s%s/%s", driver->here, folder, file);
		if (stat(path, &st) < 0)
			continue;
		if (!clv_cdi_soname(path, name, sizeof(name)))
			snprintf(name, sizeof(name), "%s.1", libraries[i].name);
		add_library(driver, folder, file, name);
		/* Some programs load it without a version. */
		if (i == 0)
			add_library(driver, folder, file, libraries[i].name);
	}
}

/* Reads the driver's version, such as 580.95.05, from libcuda.so.VERSION, the newest if
 * there are several; false: the folder has no such file. */
static bool find_version(const char *path, char ret[NAME_MAX + 1])
{
	size_t n = strlen(libraries[0].name);
	DIR *folder = opendir(path);
	const struct dirent *entry;

	ret[0] = '\0';
	while (folder && (entry = readdir(folder))) {
		const char *version = entry->d_name + n + 1;

		if (strncmp(entry->d_name, libraries[0].name, n) == 0 &&
			entry->d_name[n] == '.' && strchr(version, '.') &&
			strverscmp(version, ret) > 0)
			snprintf(ret, NAME_MAX + 1, "%s", version);
	}
	if (folder)
		closedir(folder);
	return ret[0] != '\0';
}

static void find_libraries(struct clv_cdi_driver *driver)
{
	char version[NAME_MAX + 1], path[PATH_MAX];
	struct stat st;

	json_decref(driver->mounts);
	driver->mounts = json_array();
	driver->folder[0] = '\0';
	for (size_t i = 0; i < CLV_ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%.2000s%s", driver->here, folders[i]);
		if (stat(path, &st) < 0 || !find_version(path, version))
			continue;
		snprintf(driver->folder, sizeof(driver->folder), "%s", path);
		driver->mounts_stamp = st.st_mtim;
		add_libraries(driver, folders[i], version);
		break;
	}
	for (size_t i = 0; driver->folder[0] != '\0' && i < CLV_ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%.2000s%s", driver->here, files[i]);
		if (stat(path, &st) == 0)
			add_mount(driver, files[i], files[i]);
	}
}

static const json_t *libraries_of(struct clv_cdi_driver *driver)
{
	struct stat st;

	if (driver->folder[0] == '\0' || stat(driver->folder, &st) < 0 ||
		memcmp(&st.st_mtim, &driver->mounts_stamp, sizeof(st.st_mtim)) != 0)
		find_libraries(driver);
	return driver->mounts;
}

/* --- Edits --- */

static const json_t *vendors_of(struct clv_cdi_driver *driver)
{
	const char *const *specs = (const char *const *)driver->specs;
	size_t n = driver->specs[0] ? CLV_ARRAY_SIZE(driver->specs) : 0;
	uint64_t stamp = clv_cdi_vendor_stamp(specs, n);

	if (!driver->vendors || stamp != driver->vendors_stamp) {
		json_decref(driver->vendors);
		driver->vendors = clv_cdi_vendor_read(specs, n);
		driver->vendors_stamp = stamp;
	}
	return driver->vendors;
}

static void append(json_t *edits, const char *key, const json_t *list)
{
	json_t *more = json_pack("{s:O}", key, list);

	if (json_array_size(list) > 0)
		clv_cdi_append(edits, more);
	json_decref(more);
}

static int add_device(struct clv_cdi_driver *driver, const json_t *device, json_t *edits,
	struct clv_error *err)
{
	const struct clv_cdi_root root = {driver->host, driver->here};
	json_t *nodes = json_array();
	struct clv_error why = {};
	int r = clv_cdi_nodes(device, &root, nodes, &why);

	bool has_nodes = r < 0 || json_array_size(nodes) > 0;

	if (has_nodes && clv_cdi_vendor_add(vendors_of(driver), device, nodes, edits)) {
		r = 0;
	} else if (r >= 0) {
		append(edits, "deviceNodes", nodes);
		if (strcmp(text_of(device, "backend"), "nvidia") == 0)
			append(edits, "mounts", libraries_of(driver));
	} else {
		clv_error_set(err, r, "%s", why.msg);
	}
	json_decref(nodes);
	return r;
}

static bool is_unwanted(const json_t *item, bool has_sm)
{
	const char *variable = json_string_value(item);

	if (variable)
		return strncmp(variable, "NVIDIA_VISIBLE_DEVICES=", 23) == 0;
	return !has_sm && strcmp(text_of(item, "containerPath"), MPS_PIPES) == 0;
}

/* Removes what two devices have in common, the vendor's choice of visible devices, which
 * is cleave's own to make, and the pipes of an MPS daemon, with which only a lease with a
 * limit in multiprocessors has to do. */
static void tidy(json_t *list, bool has_sm)
{
	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *item = json_array_get(list, i);
		bool is_dropped = is_unwanted(item, has_sm);

		for (size_t k = 0; k < i && !is_dropped; k++)
			is_dropped = json_equal(item, json_array_get(list, k));
		if (is_dropped)
			json_array_remove(list, i);
	}
}

int clv_cdi_driver_edits(struct clv_cdi_driver *driver, const json_t *lease, json_t **ret,
	struct clv_error *err)
{
	bool has_sm = json_is_object(json_object_get(lease, "sm"));
	json_t *edits = json_object(), *list;
	const json_t *device;
	const char *key;
	size_t i;
	int r = 0;

	json_array_foreach (json_object_get(lease, "devices"), i, device) {
		if (r >= 0)
			r = add_device(driver, device, edits, err);
	}
	if (r < 0) {
		json_decref(edits);
		return r;
	}
	json_object_foreach (edits, key, list)
		tidy(list, has_sm);
	*ret = edits;
	return 0;
}
