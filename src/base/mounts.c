/* SPDX-License-Identifier: Apache-2.0 */
/* Bind mounts in a private mount namespace. */
#include "base/mounts.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

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
	return (struct clv_bind){
		from, to, open(folder[0] ? folder : "/", O_PATH | O_CLOEXEC)};
}

/* Whether `to` in the old namespace is now the mounted file, or was that file all
 * along. */
static bool is_seen_outside(const struct clv_bind *bind)
{
	struct stat inside, outside;

	return stat(bind->from, &inside) == 0 &&
	       fstatat(bind->folder_fd, strrchr(bind->to, '/') + 1, &outside, 0) == 0 &&
	       inside.st_dev == outside.st_dev && inside.st_ino == outside.st_ino;
}

int clv_bind_mount(const struct clv_bind *bind, struct clv_error *err)
{
	if (mount(bind->from, bind->to, NULL, MS_BIND | MS_REC, NULL) < 0)
		return clv_error_errno(
			err, errno, "cannot mount %s on %s", bind->from, bind->to);
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
