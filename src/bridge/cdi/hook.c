/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/cdi/hook.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "bridge/cdi/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define VENDORS "etc/OpenCL/vendors"
#define CONFIG_MAX_BYTES (16u << 20)
#define GLIBC "GLIBC_2."

/* Links lead nowhere but inside the image. */
static int open_inside(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static int find_root(const char *state, size_t n_bytes, struct clv_error *err)
{
	json_t *container = json_loadb(state, n_bytes, 0, NULL), *config = NULL;
	const char *bundle = json_string_value(json_object_get(container, "bundle"));
	const char *path;
	char name[CLV_PATH_MAX];
	int fd = -1;

	if (bundle) {
		snprintf(name, sizeof(name), "%s/config.json", bundle);
		config = json_load_file(name, 0, NULL);
	}
	path = json_string_value(
		json_object_get(json_object_get(config, "root"), "path"));
	if (path) {
		snprintf(name, sizeof(name), "%s%s%s", path[0] == '/' ? "" : bundle,
			path[0] == '/' ? "" : "/", path);
		fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	json_decref(container);
	json_decref(config);
	return fd >= 0 ? fd
		       : clv_error_set(err, -EINVAL,
				 "the runtime did not say where the container's root is: "
				 "this "
				 "is for OCI runtimes to call, as a createContainer "
				 "hook");
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

static int check_libc(int root, struct clv_error *err)
{
	static const char *const paths[] = {
		"lib/x86_64-linux-gnu/libc.so.6",
		"usr/lib/x86_64-linux-gnu/libc.so.6",
		"lib64/libc.so.6",
		"usr/lib64/libc.so.6",
		"lib/aarch64-linux-gnu/libc.so.6",
		"lib/libc.so.6",
		"usr/lib/libc.so.6",
	};
	int needed = glibc_inside(root, CLV_CDI_GATES "/" CLV_GATE_OPENCL), has = -1;

	for (size_t i = 0; has < 0 && i < CLV_ARRAY_SIZE(paths); i++)
		has = glibc_inside(root, paths[i]);
	if (needed < 0)
		return clv_error_set(err, -ENOENT,
			"the gates are not in the container's " CLV_CDI_GATES
			": does a mount of the container's own lie over it?");
	if (has >= needed)
		return 0;
	if (has < 0)
		return clv_error_set(err, -ENOTSUP,
			"the image has no GNU C library, and no gate can be loaded "
			"without: "
			"nothing would hold its programs, so use an image that has it, "
			"or a "
			"whole device or partition by the vendor's own entry");
	return clv_error_set(err, -ENOTSUP,
		"the image's C library is 2.%d, and the gates need 2.%d: nothing would "
		"hold its "
		"programs, so use a newer image, or a whole device or partition by the "
		"vendor's own entry",
		has, needed);
}

static int bind(int from, int to, struct clv_error *err)
{
	char from_path[40], to_path[40];

	snprintf(from_path, sizeof(from_path), "/proc/self/fd/%d", from);
	snprintf(to_path, sizeof(to_path), "/proc/self/fd/%d", to);
	if (mount(from_path, to_path, NULL, MS_BIND | MS_REC, NULL) == 0)
		return 0;
	return clv_error_errno(err, errno, "cannot put the gate before /" VENDORS);
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
	r = bind(vendors, real, err);
	return r < 0 ? r : bind(own, vendors, err);
}

int clv_cdi_hook(const char *state, size_t n_bytes, struct clv_error *err)
{
	_cleanup_close_ int root = find_root(state, n_bytes, err);
	int r = root < 0 ? root : check_libc(root, err);

	return r < 0 ? r : cover_vendors(root, err);
}
