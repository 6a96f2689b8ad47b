/* SPDX-License-Identifier: Apache-2.0 */
/* Follows "#!" lines to the ELF file and to its loader, as the kernel does.  A gate can
 * be preloaded if that loader is the one that the gate was built for (cleave's own), and
 * if the program gains no rights at its start, since loaders then ignore LD_PRELOAD.
 * Programs that it starts later, and formats of binfmt_misc, are not checked. */
#include "cli/launch/preloadable.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/launch/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPT_BYTES 256   /* of the first line, as the kernel reads */
#define INTERPRETERS_MAX 5 /* one after the other, as the kernel follows them */
#define SHELL "/bin/sh"
#define IS_MUSL "is made for another C library (musl)"

static bool is_same_file(const struct stat *a, const char *path)
{
	struct stat b;

	return stat(path, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Rights that the program gains. */

/* Whether the user namespace maps the id.  A set-user-ID program of an unmapped user
 * gains nothing. */
static bool is_mapped(const char *map_path, unsigned int id)
{
	FILE *map = fopen(map_path, "re");
	unsigned int first, n;
	bool is_found = !map;

	while (!is_found && fscanf(map, "%u %*u %u", &first, &n) == 2)
		is_found = id >= first && id - first < n;
	if (map)
		fclose(map);
	return is_found;
}

static bool changes_ids(const struct stat *st)
{
	const mode_t group = S_ISGID | S_IXGRP;

	if ((st->st_mode & S_ISUID) && st->st_uid != getuid() &&
		is_mapped("/proc/self/uid_map", st->st_uid))
		return true;
	return (st->st_mode & group) == group && st->st_gid != getgid() &&
	       is_mapped("/proc/self/gid_map", st->st_gid);
}

/* File capabilities give root nothing that it lacks. */
static bool has_capabilities(int fd)
{
	return getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static bool may_gain_rights(int fd)
{
	struct statvfs mounted;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return false;
	return fstatvfs(fd, &mounted) < 0 || !(mounted.f_flag & ST_NOSUID);
}

/* Why no gate can be loaded, as the end of a sentence; NULL: it can. */

static bool is_musl(const struct clv_image *image)
{
	return strncmp(base_name(image->loader), "ld-musl-", 8) == 0;
}

static const char *obstacle_of_image(const struct clv_image *image, const struct stat *st)
{
	struct clv_image self;

	if (!clv_image_read_self(&self))
		return "cannot be compared with cleave itself";
	if (!clv_image_is_alike(image, &self))
		return "is for another processor or word size";
	if (image->loader[0] == '\0')
		return is_same_file(st, self.loader) ? NULL : "is linked statically";
	if (is_musl(image))
		return IS_MUSL;
	if (strcmp(base_name(image->loader), base_name(self.loader)) != 0)
		return "is made for another C library";
	return NULL;
}

static const char *obstacle_of_file(int fd, const struct stat *st, bool is_loaded)
{
	struct clv_image image;
	const char *obstacle;

	if (!clv_image_read(fd, &image))
		return NULL;
	if (is_loaded)
		return is_musl(&image) ? IS_MUSL : NULL;
	obstacle = obstacle_of_image(&image, st);
	if (obstacle || !may_gain_rights(fd))
		return obstacle;
	if (changes_ids(st))
		return "runs as another user or group (set-user-ID)";
	return has_capabilities(fd) ? "gains rights when it starts (file capabilities)"
				    : NULL;
}

/* Reads the interpreter of a "#!" line; false if the file is a program or other data.  A
 * text without such a line is run by the shell, as execvp() does. */
static bool read_interpreter(int fd, char ret[SCRIPT_BYTES])
{
	struct clv_image image;
	char line[SCRIPT_BYTES];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	const char *begin;
	size_t length;

	line[n > 0 ? n : 0] = '\0';
	if (clv_image_read(fd, &image))
		return false;
	if (strncmp(line, "#!", 2) != 0) {
		strcpy(ret, SHELL);
		return strlen(line) == (size_t)(n > 0 ? n : 0);
	}
	begin = line + 2 + strspn(line + 2, " \t");
	length = strcspn(begin, " \t\n");
	memcpy(ret, begin, length);
	ret[length] = '\0';
	return length > 0;
}

static int fail(
	const char *path, const char *asked, const char *obstacle, struct clv_error *err)
{
	if (path == asked)
		return clv_error_set(err, -EPERM, "'%.200s' %s", path, obstacle);
	return clv_error_set(err, -EPERM, "'%.80s' is run by '%.120s', which %s", asked,
		path, obstacle);
}

static int check(const char *asked, bool is_loaded, struct clv_error *err)
{
	char interpreter[SCRIPT_BYTES];
	const char *path = asked;

	for (int i = 0; i <= INTERPRETERS_MAX; i++) {
		_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		const char *obstacle;
		struct stat st;

		if (fd < 0 && errno == EACCES && access(path, X_OK) == 0)
			return fail(path, asked, "cannot be read, only executed", err);
		if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
			return 0;
		obstacle = obstacle_of_file(fd, &st, is_loaded);
		if (obstacle)
			return fail(path, asked, obstacle, err);
		if (!read_interpreter(fd, interpreter))
			return 0;
		path = interpreter;
	}
	return 0;
}

int clv_preloadable_check(const char *path, struct clv_error *err)
{
	return check(path, false, err);
}

int clv_preloadable_check_loaded(const char *path, struct clv_error *err)
{
	return check(path, true, err);
}
