/* SPDX-License-Identifier: Apache-2.0 */
/* The lock files of devices.  A file is not removed when its lock is released, or two
 * agents could hold locks on two files of the same name.
 *
 * Any process that can open a file can lock it, so the system's agent has a folder of its
 * own with files that other users cannot open.  /proc/locks, which every user may read,
 * tells them who has such a lock. */
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
#include <sys/sysmacros.h>

static void make_path(const char *folder, const char *uuid, char *ret, size_t ret_bytes)
{
	char name[64];

	snprintf(name, sizeof(name), "%s", uuid);
	for (char *p = name; *p; p++) {
		if (!isalnum((unsigned char)*p) && *p != '-')
			*p = '_';
	}
	snprintf(ret, ret_bytes, "%s/cleave-%s.lock", folder, name);
}

static int open_lock_file(const char *path, unsigned int mode)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

	for (int i = 0; i < 3; i++) {
		/* Without O_CREAT first: in a sticky folder the kernel refuses O_CREAT on
		 * another user's file (fs.protected_regular). */
		int fd = open(path, flags);

		if (fd < 0 && errno == ENOENT) {
			fd = open(path, flags | O_CREAT | O_EXCL, mode);
			/* The mode must not depend on the umask. */
			if (fd >= 0 && fchmod(fd, mode) < 0) {
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

/* The process that has locked the file; 0: none that this PID namespace shows. */
static pid_t find_holder(const struct stat *st)
{
	FILE *locks = fopen("/proc/locks", "re");
	char line[256];
	pid_t found = 0;

	while (locks && found == 0 && fgets(line, sizeof(line), locks)) {
		unsigned int major, minor;
		unsigned long inode;
		int pid;

		/* Lines of processes that wait for a lock do not match. */
		if (sscanf(line, "%*d: FLOCK %*s WRITE %d %x:%x:%lu", &pid, &major,
			    &minor, &inode) == 4 &&
			major == major(st->st_dev) && minor == minor(st->st_dev) &&
			inode == st->st_ino)
			found = pid;
	}
	if (locks)
		fclose(locks);
	return found;
}

pid_t clv_device_lock_holder(const char *folder, const char *uuid)
{
	char path[1280];
	struct stat st;

	make_path(folder, uuid, path, sizeof(path));
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? find_holder(&st) : 0;
}

int clv_device_lock_refuse(pid_t holder, struct clv_error *err)
{
	char who[64] = "", proc[32];
	struct stat st;

	snprintf(proc, sizeof(proc), "/proc/%d", (int)holder);
	if (holder > 0 && stat(proc, &st) == 0)
		snprintf(who, sizeof(who), ", process %d of user %u", (int)holder,
			st.st_uid);
	return clv_error_set(err, -EADDRINUSE,
		"another agent already divides the device%s: use that one (with "
		"--socket) or wait until it ends",
		who);
}

/* The text that the holder left.  Only root can have written a file of the system's
 * agent; in a file that others may write the text would be theirs. */
static int refuse_by_text(int fd, struct clv_error *err)
{
	char text[512];
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (text[0] == '\0')
		return clv_device_lock_refuse(0, err);
	return clv_error_set(err, -EADDRINUSE,
		"another agent already divides the device, %s: use that one (with "
		"--socket) or wait until it ends",
		text);
}

static void write_text(int fd, const char *socket_path)
{
	char text[1280];
	int length = snprintf(
		text, sizeof(text), "process %d on %s\n", (int)getpid(), socket_path);

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)length, 0) != length)
		return; /* other agents cannot name this one then */
}

int clv_device_lock(const struct clv_lock_folder *folder, const char *uuid,
	const char *socket_path, struct clv_error *err)
{
	char path[1280];
	_cleanup_close_ int fd = -1;
	struct stat st;

	make_path(folder->path, uuid, path, sizeof(path));
	fd = open_lock_file(path, folder->is_private ? 0600 : 0666);
	if (fd == -EACCES) {
		pid_t holder = clv_device_lock_holder(folder->path, uuid);

		if (holder > 0)
			return clv_device_lock_refuse(holder, err);
	}
	if (fd < 0)
		return clv_error_set(err, -EACCES, "cannot lock the device by %s: %s",
			path, strerror(-fd));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return clv_error_set(err, -EACCES,
			"cannot lock the device: %s is not a plain file", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return folder->is_private ? refuse_by_text(fd, err)
					  : clv_device_lock_refuse(find_holder(&st), err);
	if (folder->is_private)
		write_text(fd, socket_path);
	return CLV_TAKE_FD(fd);
}
