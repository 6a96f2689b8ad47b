/* SPDX-License-Identifier: Apache-2.0 */
/* The lock files of devices.  A file is not removed when its lock is released, or two
 * agents could hold locks on two files of the same name. */
#include "agent/device/device-lock.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static int open_lock_file(const char *path)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

	for (int i = 0; i < 3; i++) {
		/* Without O_CREAT first: in a sticky folder the kernel refuses O_CREAT on
		 * another user's file (fs.protected_regular). */
		int fd = open(path, flags);

		if (fd < 0 && errno == ENOENT) {
			fd = open(path, flags | O_CREAT | O_EXCL, 0666);
			/* Other users' agents must be able to lock the file later. */
			if (fd >= 0 && fchmod(fd, 0666) < 0) {
				close(fd);
				return -errno;
			}
		}
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Reads the holder's text.  Any user may have written the file: the result is one
 * printable line. */
static void read_holder(int fd, char *ret, size_t ret_bytes)
{
	ssize_t length = pread(fd, ret, ret_bytes - 1, 0);

	ret[length > 0 ? length : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	for (char *p = ret; *p; p++) {
		if (!isprint((unsigned char)*p))
			*p = '?';
	}
	if (ret[0] == '\0')
		snprintf(ret, ret_bytes, "process that has not left its name");
}

static void write_holder(int fd, const char *socket_path)
{
	char text[1280];
	int length = snprintf(text, sizeof(text), "agent with process id %d on %s\n",
		(int)getpid(), socket_path);

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)length, 0) != length)
		return; /* other agents cannot name this one then */
}

int clv_device_lock(const char *folder, const char *uuid, const char *socket_path,
	struct clv_error *err)
{
	char path[1280], name[64], holder[512];
	_cleanup_close_ int fd = -1;
	struct stat st;

	snprintf(name, sizeof(name), "%s", uuid);
	for (char *p = name; *p; p++) {
		if (!isalnum((unsigned char)*p) && *p != '-')
			*p = '_';
	}
	snprintf(path, sizeof(path), "%s/cleave-%s.lock", folder, name);
	fd = open_lock_file(path);
	if (fd < 0)
		return clv_error_set(err, -EACCES, "cannot lock the device by %s: %s",
			path, strerror(-fd));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return clv_error_set(err, -EACCES,
			"cannot lock the device: %s is not a plain file", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		read_holder(fd, holder, sizeof(holder));
		return clv_error_set(err, -EADDRINUSE,
			"the device is divided by another %s already: use that one (with "
			"--socket) or wait until it ends",
			holder);
	}
	write_holder(fd, socket_path);
	return CLV_TAKE_FD(fd);
}
