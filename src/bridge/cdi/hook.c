/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the container's image can load the gates, and mounts the gate's folder
 * over its folder of OpenCL vendors. */
#include "bridge/cdi/hook.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "bridge/cdi/spec.h"
#include "core/device/icd-loader.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VENDORS "etc/OpenCL/vendors"
#define GLIBC "GLIBC_2."

/* Symbolic links are resolved inside the image. */
static int open_inside(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Folders of libraries in an image, in the search order of the dynamic loaders. */
static const char *const folders[] = {
	"lib/x86_64-linux-gnu",
	"usr/lib/x86_64-linux-gnu",
	"lib64",
	"usr/lib64",
	"lib/aarch64-linux-gnu",
	"usr/lib/aarch64-linux-gnu",
	"lib",
	"usr/lib",
	"usr/local/lib",
};

/* Variables of the container's first program that select libraries and drivers; NULL: not
 * set. */
struct environment {
	char *libraries; /* LD_LIBRARY_PATH */
	char *detours[CLV_ICD_N_DETOURS];
};

static void free_environment(struct environment *environment)
{
	free(environment->libraries);
	for (size_t i = 0; i < CLV_ICD_N_DETOURS; i++)
		free(environment->detours[i]);
}

/* The first definition wins, as with getenv(). */
static void take_variable(const char *text, const char *name, char **ret)
{
	size_t n = strlen(name);

	if (!*ret && strncmp(text, name, n) == 0 && text[n] == '=')
		*ret = strdup(text + n + 1);
}

static void read_environment(const json_t *config, struct environment *ret)
{
	const json_t *env = json_object_get(json_object_get(config, "process"), "env");
	const json_t *variable;
	size_t i;

	json_array_foreach (env, i, variable) {
		const char *text = json_string_value(variable);

		if (!text)
			continue;
		take_variable(text, "LD_LIBRARY_PATH", &ret->libraries);
		for (size_t j = 0; j < CLV_ICD_N_DETOURS; j++)
			take_variable(text, clv_icd_variables[j], &ret->detours[j]);
	}
}

/* Each lease has its hook, with the list that its programs preload.  The container has
 * one such list, that of its last lease. */
static int check_lists(const json_t *config, struct clv_error *err)
{
	const json_t *hooks =
		json_object_get(json_object_get(config, "hooks"), "createContainer");
	const char *first = NULL;
	const json_t *hook;
	size_t i;

	json_array_foreach (hooks, i, hook) {
		const json_t *args = json_object_get(hook, "args");
		const char *name = json_string_value(json_array_get(args, 0));
		const char *list = json_string_value(json_array_get(args, 1));

		if (!name || !list || strcmp(name, CLV_CDI_HOOK) != 0)
			continue;
		if (first && strcmp(first, list) != 0)
			return clv_error_set(err, -EXDEV,
				"the container has leases whose programs load different "
				"gates (%.40s and %.40s), and could load those of one "
				"lease only, so the others' would run without limits: "
				"give it leases of devices of one vendor",
				first, list);
		first = list;
	}
	return 0;
}

static json_t *load_config(const json_t *container)
{
	const char *bundle = json_string_value(json_object_get(container, "bundle"));
	char name[CLV_PATH_MAX];

	if (!bundle)
		return NULL;
	snprintf(name, sizeof(name), "%s/config.json", bundle);
	return json_load_file(name, 0, NULL);
}

static int open_root(const json_t *container, const json_t *config, struct clv_error *err)
{
	const char *bundle = json_string_value(json_object_get(container, "bundle"));
	const char *path = json_string_value(
		json_object_get(json_object_get(config, "root"), "path"));
	char name[CLV_PATH_MAX];
	int fd = -1;

	if (path) {
		snprintf(name, sizeof(name), "%s%s%s", path[0] == '/' ? "" : bundle,
			path[0] == '/' ? "" : "/", path);
		fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	return fd >= 0 ? fd
		       : clv_error_set(err, -EINVAL,
				 "standard input does not name the container's root: "
				 "this "
				 "program is a createContainer hook for OCI runtimes");
}

/* Reads the container's configuration.  Returns a descriptor of its root. */
static int find_root(
	const char *state, size_t n_bytes, struct environment *ret, struct clv_error *err)
{
	json_t *container = json_loadb(state, n_bytes, 0, NULL);
	json_t *config = load_config(container);
	_cleanup_close_ int root = open_root(container, config, err);
	int r = root < 0 ? root : check_lists(config, err);

	read_environment(config, ret);
	json_decref(container);
	json_decref(config);
	return r < 0 ? r : CLV_TAKE_FD(root);
}

static int newest_in(const char *text, size_t n_bytes)
{
	const size_t n_prefix = sizeof(GLIBC) - 1;
	const char *at = text;
	int newest = -1;

	while ((at = memmem(at, (size_t)(text + n_bytes - at), GLIBC, n_prefix))) {
		const char *end = text + n_bytes;
		int version = 0;

		for (at += n_prefix;
			at < end && *at >= '0' && *at <= '9' && version < 1000; at++)
			version = 10 * version + (*at - '0');
		if (version > newest)
			newest = version;
	}
	return newest;
}

int clv_cdi_glibc_of(int fd)
{
	struct stat st;
	int newest;
	void *map;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return -1;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -1;
	newest = newest_in(map, (size_t)st.st_size);
	munmap(map, (size_t)st.st_size);
	return newest;
}

static int glibc_inside(int root, const char *path)
{
	_cleanup_close_ int fd = open_inside(root, path, O_RDONLY | O_NONBLOCK);

	return fd < 0 ? -1 : clv_cdi_glibc_of(fd);
}

static bool is_musl(int root)
{
	static const char *const loaders[] = {
		"lib/ld-musl-x86_64.so.1",
		"lib/ld-musl-aarch64.so.1",
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(loaders); i++) {
		_cleanup_close_ int fd = open_inside(root, loaders[i], O_PATH);

		if (fd >= 0)
			return true;
	}
	return false;
}

static int check_libc(int root, struct clv_error *err)
{
	int needed = glibc_inside(root, CLV_CDI_GATES "/" CLV_GATE_OPENCL), has = -1;
	char path[CLV_PATH_MAX];

	for (size_t i = 0; has < 0 && i < CLV_ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s/libc.so.6", folders[i]);
		has = glibc_inside(root, path);
	}
	if (needed < 0)
		return clv_error_set(err, -ENOENT,
			"the gates are not in the container's " CLV_CDI_GATES
			": is another mount of the container over it?");
	if (has >= needed)
		return 0;
	if (has < 0)
		return clv_error_set(err, -ENOTSUP,
			"the image has no GNU C library%s: the gates need it, and its "
			"programs would run without limits, so use an image that has it, "
			"or a whole device or partition by the vendor's own entry",
			is_musl(root) ? " but musl" : "");
	return clv_error_set(err, -ENOTSUP,
		"the image's C library is 2.%d, and the gates need 2.%d: its programs "
		"would run without limits, so use a newer image, or a whole device or "
		"partition by the vendor's own entry",
		has, needed);
}

/* --- The image's OpenCL loader --- */

static bool identify(int root, const char *folder, char ret_path[CLV_PATH_MAX],
	struct clv_icd_loader *ret)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	void *map;

	snprintf(ret_path, CLV_PATH_MAX, "%s/" CLV_ICD_LOADER_SONAME, folder);
	fd = open_inside(root, ret_path, O_RDONLY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return false;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return false;
	clv_icd_loader_identify(map, (size_t)st.st_size, ret);
	munmap(map, (size_t)st.st_size);
	return true;
}

static bool find_loader(int root, char *libraries, char ret_path[CLV_PATH_MAX],
	struct clv_icd_loader *ret)
{
	char *rest = NULL;

	for (char *folder = libraries ? strtok_r(libraries, ":;", &rest) : NULL; folder;
		folder = strtok_r(NULL, ":;", &rest)) {
		if (identify(root, folder, ret_path, ret))
			return true;
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(folders); i++) {
		if (identify(root, folders[i], ret_path, ret))
			return true;
	}
	return false;
}

/* Whether the lease has no API but OpenCL: the mounted list of preloaded gates has
 * neither the gate for CUDA nor that for HIP. */
static bool is_opencl_alone(int root)
{
	_cleanup_close_ int fd =
		open_inside(root, "etc/ld.so.preload", O_RDONLY | O_NONBLOCK);
	char list[CLV_PATH_MAX] = "";

	return fd >= 0 && read(fd, list, sizeof(list) - 1) > 0 &&
	       !strstr(list, CLV_GATE_CUDA) && !strstr(list, CLV_GATE_HIP);
}

/* The variable that makes the loader read another folder than that with the gate. */
static const char *find_detour(
	const struct clv_icd_loader *loader, const struct environment *environment)
{
	for (size_t i = 0; i < CLV_ICD_N_DETOURS; i++) {
		const char *to = environment->detours[i];

		if (loader->reads[i] && to && to[0] && strcmp(to, "/" VENDORS) != 0)
			return clv_icd_variables[i];
	}
	return NULL;
}

static bool has_vendors(int root)
{
	_cleanup_close_ int fd = open_inside(root, VENDORS, O_PATH | O_DIRECTORY);

	return fd >= 0;
}

static int fail_loader(const char *path, const struct clv_icd_loader *loader,
	const char *why, const char *remedy, struct clv_error *err)
{
	char what[64];

	clv_icd_loader_describe(loader, what, sizeof(what));
	return clv_error_set(err, -ENOTSUP,
		"the image's OpenCL loader /%.120s (%s) takes no layers, and %s, so its "
		"programs would run without limits: %s",
		path + strspn(path, "/"), what, why, remedy);
}

/* A loader without support for layers loads the gate in place of the drivers, provided
 * that it reads drivers only from the folder of vendors. */
static int check_loader(
	int root, const struct environment *environment, struct clv_error *err)
{
	static const char newer[] =
		"use an image with ocl-icd 2.2.14 or later, or Khronos' loader "
		"v2020.12.18 or later, or a whole device or partition by the vendor's "
		"own entry";
	char path[CLV_PATH_MAX], why[80], remedy[48];
	struct clv_icd_loader loader;
	const char *detour;

	if (!find_loader(root, environment->libraries, path, &loader) || loader.layers)
		return 0;
	detour = find_detour(&loader, environment);
	if (detour) {
		snprintf(why, sizeof(why), "%s leads it to other drivers", detour);
		snprintf(remedy, sizeof(remedy), "unset %s", detour);
		return fail_loader(path, &loader, why, remedy, err);
	}
	if (!is_opencl_alone(root))
		return 0;
	if (!loader.has_folder)
		return fail_loader(path, &loader,
			"reads its drivers from elsewhere than /" VENDORS, newer, err);
	return has_vendors(root) ? 0
				 : fail_loader(path, &loader,
					   "there is no folder /" VENDORS, newer, err);
}

static int bind(int from, int to, struct clv_error *err)
{
	char from_path[40], to_path[40];

	snprintf(from_path, sizeof(from_path), "/proc/self/fd/%d", from);
	snprintf(to_path, sizeof(to_path), "/proc/self/fd/%d", to);
	if (mount(from_path, to_path, NULL, MS_BIND | MS_REC, NULL) == 0)
		return 0;
	return clv_error_errno(err, errno, "cannot mount the gate over /" VENDORS);
}

static bool is_same(int a, int b)
{
	struct stat a_st, b_st;

	return fstat(a, &a_st) == 0 && fstat(b, &b_st) == 0 &&
	       a_st.st_dev == b_st.st_dev && a_st.st_ino == b_st.st_ino;
}

static int cover_vendors(int root, struct clv_error *err)
{
	_cleanup_close_ int vendors = open_inside(root, VENDORS, O_PATH | O_DIRECTORY);
	_cleanup_close_ int own =
		open_inside(root, CLV_CDI_GATES "/vendors", O_PATH | O_DIRECTORY);
	_cleanup_close_ int real =
		open_inside(root, CLV_CDI_GATES "/vendors.real", O_PATH | O_DIRECTORY);
	int r;

	if (vendors < 0)
		return 0; /* no OpenCL in this image */
	if (own < 0 || real < 0)
		return clv_error_errno(err, errno, "cannot use " CLV_CDI_GATES);
	/* The container has two of cleave's devices, so that this is the second hook. */
	if (is_same(vendors, own))
		return 0;
	r = bind(vendors, real, err);
	return r < 0 ? r : bind(own, vendors, err);
}

int clv_cdi_hook(const char *state, size_t n_bytes, struct clv_error *err)
{
	CLV_CLEANUP(free_environment) struct environment environment = {};
	_cleanup_close_ int root = find_root(state, n_bytes, &environment, err);
	int r = root < 0 ? root : check_libc(root, err);

	if (r >= 0)
		r = check_loader(root, &environment, err);
	return r < 0 ? r : cover_vendors(root, err);
}
