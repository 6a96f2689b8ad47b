/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts in a private mount namespace. */
#include "base/mounts.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_slaves_of_chroot(struct clv_error *err)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char point[CLV_PATH_MAX];

	if (!mounts)
		return clv_error_errno(err, errno, "cannot read /proc/self/mountinfo");
	while (fscanf(mounts, "%*s %*s %*s %*s %4095s%*[^\n]", point) == 1)
		mount(NULL, point, NULL, MS_SLAVE, NULL);
	fclose(mounts);
	return 0;
}

int clv_mounts_make_slaves(struct clv_error *err)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0)
		return 0;
	if (errno == EINVAL)
		return make_slaves_of_chroot(err);
	return clv_error_errno(err, errno, "mount");
}

struct clv_bind clv_bind_open(const char *from, const char *to)
{
	char folder[CLV_PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(to, '/') - to), to);
	return (struct clv_bind){.from = from,
		.to = to,
		.folder_fd = open(folder[0] ? folder : "/", O_PATH | O_CLOEXEC)};
}

/* Whether `to` in the old namespace is now the mounted file, or was that file all
 * along. */
static bool is_seen_outside(const struct clv_bind *bind)
{
	struct stat inside, outside;

	return stat(bind->to, &inside) == 0 &&
	       fstatat(bind->folder_fd, strrchr(bind->to, '/') + 1, &outside, 0) == 0 &&
	       inside.st_dev == outside.st_dev && inside.st_ino == outside.st_ino;
}

#define COPY_OPTIONS "mode=755,size=256k,nr_inodes=64"
#define COPY_FLAGS (MS_NOSUID | MS_NODEV)
#define COPIED_MAX (CLV_PATH_MAX + 64)

/* 0 or -errno, as copy_entries() and mount_copy(). */
static int copy_entry(int from, int to, const char *name)
{
	_cleanup_close_ int in = -1, out = -1;
	char content[COPIED_MAX];
	ssize_t n = readlinkat(from, name, content, sizeof(content) - 1);

	if (n >= 0) {
		content[n] = '\0';
		return symlinkat(content, to, name) < 0 ? -errno : 0;
	}
	in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	n = in < 0 ? -1 : read(in, content, sizeof(content));
	if (n < 0)
		return -errno;
	out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (out < 0 || write(out, content, (size_t)n) != n || fchmod(out, 0644) < 0)
		return -errno;
	return 0;
}

static int copy_entries(DIR *from, const char *path)
{
	_cleanup_close_ int to = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;
	int r = to < 0 ? -errno : 0;

	while (r == 0 && (entry = readdir(from))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = copy_entry(dirfd(from), to, entry->d_name);
	}
	return r;
}

/* The mount may have propagated to others, so a copy that failed does not stay. */
static int fill_copy(DIR *from, const char *to)
{
	int r = copy_entries(from, to);

	if (r == 0 && mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | COPY_FLAGS,
			      NULL) < 0)
		r = -errno;
	if (r < 0)
		umount2(to, MNT_DETACH);
	return r;
}

static int mount_copy(const char *path, const char *to)
{
	DIR *from = opendir(path);
	int r = from ? 0 : -errno;

	if (r == 0 && mount("cleave", to, "tmpfs", COPY_FLAGS, COPY_OPTIONS) < 0)
		r = -errno;
	else if (r == 0)
		r = fill_copy(from, to);
	if (from)
		closedir(from);
	return r;
}

static int mount_one(const struct clv_bind *bind)
{
	if (bind->is_copy)
		return mount_copy(bind->from, bind->to);
	return mount(bind->from, bind->to, NULL, MS_BIND | MS_REC, NULL) < 0 ? -errno : 0;
}

int clv_bind_mount(const struct clv_bind *bind, struct clv_error *err)
{
	int r = mount_one(bind);

	if (r < 0)
		return clv_error_errno(
			err, -r, "cannot mount %s on %s", bind->from, bind->to);
	if (!is_seen_outside(bind))
		return 0;
	umount2(bind->to, MNT_DETACH);
	return clv_error_set(err, -EPERM,
		"a mount on %s would be visible outside of this chroot", bind->to);
}

void clv_bind_close(struct clv_bind *bind)
{
	clv_close_fd(&bind->folder_fd);
	bind->folder_fd = -1;
}
