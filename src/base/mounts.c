/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts in a private mount namespace. */
#include "base/mounts.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/paths.h"

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

#define MEMORY_OPTIONS "mode=755,size=256k,nr_inodes=64"
#define MEMORY_FLAGS (MS_NOSUID | MS_NODEV)

/* 0 or -errno, as make_entries() and mount_memory(). */
static int make_entry(int folder, const struct clv_mount_entry *entry)
{
	size_t n_bytes = strlen(entry->text);
	_cleanup_close_ int fd = -1;

	if (entry->is_link)
		return symlinkat(entry->text, folder, entry->name) < 0 ? -errno : 0;
	fd = openat(folder, entry->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	errno = ENOSPC; /* a short write sets no errno */
	if (write(fd, entry->text, n_bytes) != (ssize_t)n_bytes || fchmod(fd, 0644) < 0)
		return -errno;
	return 0;
}

static int make_entries(const struct clv_bind *bind)
{
	_cleanup_close_ int folder = open(bind->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = folder < 0 ? -errno : 0;

	for (size_t i = 0; r == 0 && i < bind->n_entries; i++)
		r = make_entry(folder, &bind->entries[i]);
	return r;
}

/* The mount may have propagated to others, so one that cannot be filled does not stay. */
static int mount_memory(const struct clv_bind *bind)
{
	int r;

	if (mount("cleave", bind->to, "tmpfs", MEMORY_FLAGS, MEMORY_OPTIONS) < 0)
		return -errno;
	r = make_entries(bind);
	if (r == 0 && mount(NULL, bind->to, NULL,
			      MS_REMOUNT | MS_BIND | MS_RDONLY | MEMORY_FLAGS, NULL) < 0)
		r = -errno;
	if (r < 0)
		umount2(bind->to, MNT_DETACH);
	return r;
}

static int mount_one(const struct clv_bind *bind)
{
	if (bind->n_entries > 0)
		return mount_memory(bind);
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
