/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of a driver's library, and creates the shim that cli/launch/namespace.c
 * mounts over them. */
#include "cli/launch/bind-mounts.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/launch/image.h"
#include "cli/launch/libraries.h"
#include "cli/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_same_arch(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct clv_image image, self;

	return fd >= 0 && clv_image_read(fd, &image) && clv_image_read_self(&self) &&
	       clv_image_is_alike(&image, &self);
}

static bool is_known(const struct clv_bind_mounts *mounts, const char *path)
{
	for (size_t i = 0; i < mounts->n_copies; i++) {
		if (strcmp(mounts->copies[i], path) == 0)
			return true;
	}
	return false;
}

/* Inside another lease the file is that lease's shim, which names the original. */
static void choose_original(struct clv_bind_mounts *mounts, const char *path)
{
	if (!clv_shim_read(path, mounts->original))
		snprintf(mounts->original, sizeof(mounts->original), "%s", path);
}

static void add_copy(void *userdata, const char *path)
{
	struct clv_bind_mounts *mounts = userdata;
	char file[CLV_PATH_MAX];
	char *copy;

	if (mounts->n_copies == CLV_BIND_MOUNTS_MAX || !realpath(path, file) ||
		is_known(mounts, file) || !is_same_arch(file))
		return;
	copy = strdup(file);
	if (!copy)
		return;
	if (mounts->n_copies == 0)
		choose_original(mounts, file);
	mounts->copies[mounts->n_copies++] = copy;
}

static int make_folder(const char *folder, const char *name, const char *file,
	char ret[CLV_PATH_MAX], struct clv_error *err)
{
	int n = snprintf(ret, CLV_PATH_MAX, "%s/%s", folder, name);

	if (n + strlen(file) + 2 > CLV_PATH_MAX)
		return clv_error_set(
			err, -ENAMETOOLONG, "the path %.200s is too long", folder);
	if (mkdir(ret, 0755) < 0 && errno != EEXIST)
		return clv_error_errno(err, errno, "cannot make the folder %s", ret);
	snprintf(ret + n, CLV_PATH_MAX - (size_t)n, "/%s", file);
	return 0;
}

/* Creates the file that a bind mount needs as its target. */
static int make_file(const char *path, struct clv_error *err)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	return fd < 0 ? clv_error_errno(err, errno, "cannot make %s", path) : 0;
}

void clv_bind_mounts_find(const char *soname, struct clv_bind_mounts *ret)
{
	*ret = (struct clv_bind_mounts){};
	clv_libraries_each(soname, add_copy, ret);
}

int clv_bind_mounts_prepare(const char *folder, const char *real_folder,
	const char *soname, const char *gate, struct clv_bind_mounts *ret,
	struct clv_error *err)
{
	char gate_path[CLV_PATH_MAX];
	int r;

	clv_bind_mounts_find(soname, ret);
	if (ret->n_copies == 0)
		return 0;
	snprintf(gate_path, sizeof(gate_path), "%s/%s", folder, gate);
	r = make_folder(folder, CLV_DRIVERS, soname, ret->shim, err);
	if (r == 0)
		r = make_folder(folder, real_folder, soname, ret->real, err);
	if (r == 0)
		r = make_file(ret->real, err);
	if (r == 0)
		r = clv_shim_write(
			ret->shim, soname, gate_path, ret->real, ret->original, err);
	if (r < 0)
		clv_bind_mounts_done(ret);
	return r;
}

void clv_bind_mounts_done(struct clv_bind_mounts *mounts)
{
	while (mounts->n_copies > 0)
		free(mounts->copies[--mounts->n_copies]);
}
