/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: atomic replacement, bounded reads, lock files. */
#include "base/file.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Builds PATH with an ending, a name in the same folder. */
static int make_name(const char *path, const char *ending, char ret[CLV_PATH_MAX],
	struct clv_error *err)
{
	int length = snprintf(ret, CLV_PATH_MAX, "%s%s", path, ending);

	if (length < 0 || length >= CLV_PATH_MAX)
		return clv_error_errno(err, ENAMETOOLONG, "cannot use %.80s...", path);
	return 0;
}

/* Opens the file and applies flock() to it; -EAGAIN only with LOCK_NB. */
static int open_lock(
	const char *path, int flags, int operation, int *ret_fd, struct clv_error *err)
{
	_cleanup_close_ int fd = -1;
	char name[CLV_PATH_MAX];
	int r;

	r = make_name(path, ".lock", name, err);
	if (r < 0)
		return r;
	fd = open(name, flags | O_CLOEXEC, 0600);
	if (fd < 0)
		return clv_error_errno(err, errno, "cannot open %s", name);
	while ((r = flock(fd, operation)) < 0 && errno == EINTR)
		;
	if (r < 0)
		return clv_error_errno(err, errno, "cannot lock %s", name);
	*ret_fd = CLV_TAKE_FD(fd);
	return 0;
}

int clv_file_lock(const char *path, int *ret_fd, struct clv_error *err)
{
	return open_lock(path, O_RDWR | O_CREAT, LOCK_EX, ret_fd, err);
}

int clv_file_try_lock(const char *path, int *ret_fd, struct clv_error *err)
{
	return open_lock(path, O_RDWR | O_CREAT, LOCK_EX | LOCK_NB, ret_fd, err);
}

bool clv_file_is_locked(const char *path)
{
	_cleanup_close_ int fd = -1;
	struct clv_error err;

	return open_lock(path, O_RDONLY, LOCK_SH | LOCK_NB, &fd, &err) == -EAGAIN;
}

static int write_out(int fd, const char *text, const char *name, struct clv_error *err)
{
	size_t n_left = strlen(text);

	while (n_left > 0) {
		ssize_t n = write(fd, text, n_left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return clv_error_errno(err, errno, "cannot write %s", name);
		text += n;
		n_left -= (size_t)n;
	}
	return 0;
}

static int write_new(
	const char *name, const char *text, bool is_durable, struct clv_error *err)
{
	_cleanup_close_ int fd =
		open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return clv_error_errno(err, errno, "cannot write %s", name);
	r = write_out(fd, text, name, err);
	if (r >= 0 && is_durable && fsync(fd) < 0)
		r = clv_error_errno(err, errno, "cannot write %s", name);
	return r;
}

/* A rename is durable only after fsync() of the folder. */
static int sync_folder(const char *path, struct clv_error *err)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	_cleanup_close_ int fd = -1;

	if (!folder)
		return clv_error_errno(err, ENOMEM, "cannot write %s", path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return clv_error_errno(err, errno, "cannot write %s", folder);
	return 0;
}

static int replace(
	const char *path, const char *text, bool is_durable, struct clv_error *err)
{
	char name[CLV_PATH_MAX];
	int r = make_name(path, ".new", name, err);

	if (r >= 0)
		r = write_new(name, text, is_durable, err);
	if (r < 0)
		return r;
	if (rename(name, path) < 0)
		return clv_error_errno(err, errno, "cannot write %s", path);
	return is_durable ? sync_folder(path, err) : 0;
}

int clv_file_replace(const char *path, const char *text, struct clv_error *err)
{
	return replace(path, text, true, err);
}

int clv_file_replace_unsynced(const char *path, const char *text, struct clv_error *err)
{
	return replace(path, text, false, err);
}

static int read_open(
	int fd, size_t most_bytes, char **ret, size_t *ret_bytes, struct clv_error *err)
{
	_cleanup_free_ char *data = malloc(most_bytes + 2);
	size_t n = 0;
	ssize_t got = 1;

	if (!data)
		return clv_error_errno(err, ENOMEM, "cannot read");
	while (got > 0 && n <= most_bytes) {
		got = read(fd, data + n, most_bytes + 1 - n);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			n += (size_t)got;
	}
	if (got < 0)
		return clv_error_errno(err, errno, "cannot read");
	if (n > most_bytes)
		return clv_error_set(
			err, -EFBIG, "the file has more than %zu bytes", most_bytes);
	data[n] = '\0';
	*ret = data;
	data = NULL;
	if (ret_bytes)
		*ret_bytes = n;
	return 0;
}

static int read_path(const char *path, bool must_be_regular, size_t most_bytes,
	char **ret, size_t *ret_bytes, struct clv_error *err)
{
	_cleanup_close_ int fd =
		open(path, O_RDONLY | O_CLOEXEC | (must_be_regular ? O_NONBLOCK : 0));
	struct stat st;
	int r;

	if (fd < 0)
		return clv_error_errno(err, errno, "cannot open %s", path);
	if (must_be_regular && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		return clv_error_set(err, -EINVAL,
			"cannot read %s: it is not a regular file: remove it, or name "
			"another file",
			path);
	r = read_open(fd, most_bytes, ret, ret_bytes, err);
	if (r < 0)
		clv_error_prefix(err, "%s", path);
	return r;
}

int clv_file_read_all(const char *path, size_t most_bytes, char **ret, size_t *ret_bytes,
	struct clv_error *err)
{
	return read_path(path, false, most_bytes, ret, ret_bytes, err);
}

int clv_file_read_regular(const char *path, size_t most_bytes, char **ret,
	size_t *ret_bytes, struct clv_error *err)
{
	return read_path(path, true, most_bytes, ret, ret_bytes, err);
}

/* How the kernel shows an owner whom the user namespace does not map. */
#define OVERFLOW_UID 65534

/* Of the user namespace: whether it is another than the machine's, which maps every user
 * to itself. */
static bool is_in_container(void)
{
	_cleanup_free_ char *map = NULL;
	unsigned int first, outside, n;

	return clv_file_read_all("/proc/self/uid_map", 65536, &map, NULL, NULL) == 0 &&
	       sscanf(map, "%u %u %u", &first, &outside, &n) == 3 &&
	       (first != 0 || outside != 0 || n != UINT32_MAX);
}

/* In a container the machine's root is not mapped, and who started the container has
 * chosen the files that are mounted there. */
static bool is_strange(uid_t owner)
{
	return owner != 0 && owner != geteuid() &&
	       !(owner == OVERFLOW_UID && is_in_container());
}

/* On a mount that can only be read the mode means nothing: kubelet makes the folder of a
 * ConfigMap with the mode 0777. */
static bool can_be_written(const char *path)
{
	struct statvfs mounted;

	return statvfs(path, &mounted) < 0 || !(mounted.f_flag & ST_RDONLY);
}

/* The name of a mount point cannot get another file. */
static bool is_mount_point(const char *path)
{
	struct statx found;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, 0,
		       &found) == 0 &&
	       (found.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* A file in a folder with the sticky bit is replaced by its owner only. */
static int check_folder_of(const char *path, struct clv_error *err)
{
	_cleanup_free_ char *copy = strdup(path);
	const char *folder = copy ? dirname(copy) : NULL;
	struct stat st;

	if (!folder || stat(folder, &st) < 0)
		return clv_error_errno(err, errno, "cannot open the folder of %s", path);
	if ((st.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH && can_be_written(folder) &&
		!is_mount_point(path))
		return clv_error_set(err, -EPERM,
			"every user of this machine can replace %.80s: chmod o-w %.80s",
			path, folder);
	return 0;
}

/* The name can be a link, and so can be a folder of the link's target. */
static int check_folders_of(const char *path, struct clv_error *err)
{
	_cleanup_free_ char *target = realpath(path, NULL);
	int r = target ? check_folder_of(path, err)
		       : clv_error_errno(err, errno, "cannot open %s", path);

	return r < 0 ? r : check_folder_of(target, err);
}

int clv_file_check_writers(const char *path, struct clv_error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return clv_error_errno(err, errno, "cannot open %s", path);
	if (is_strange(st.st_uid))
		return clv_error_set(err, -EPERM,
			"user %u, whose file %.80s is, can change it: chown it to root "
			"or to user %u",
			st.st_uid, path, geteuid());
	if ((st.st_mode & S_IWOTH) && can_be_written(path))
		return clv_error_set(err, -EPERM,
			"every user of this machine can change %.80s: chmod o-w %.80s",
			path, path);
	return check_folders_of(path, err);
}

int clv_file_check_secret(const char *path, struct clv_error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return clv_error_errno(err, errno, "cannot open %s", path);
	if (st.st_mode & (S_IROTH | S_IWOTH))
		return clv_error_set(err, -EPERM,
			"every user of this machine can read or write the secret "
			"%.80s: chmod o= %.80s",
			path, path);
	return 0;
}
