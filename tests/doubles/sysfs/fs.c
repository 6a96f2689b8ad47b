/* SPDX-License-Identifier: Apache-2.0 */
#define FUSE_USE_VERSION 312
#include "fs.h"
#include "faults.h"
#include "perform.h"
#include "tree.h"
#include "world.h"
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <fuse_lowlevel.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The tree as a file system with the behaviour of sysfs: nothing is cached, each write is
 * one call of the driver, a file is generated when it is read from its start, and not
 * even root may open a file in a mode that its permissions lack. */

#define ATTRIBUTE_BYTES 4096
#define SKIP 77
#define MOST_THREADS 64

struct handle {
	struct sy_text text;
};

static time_t started;

static struct sy_node *find(const char *path)
{
	if (sy_world.has_changed)
		sy_tree_build();
	return sy_find(path);
}

static void *fs_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	/* Names are kept by the kernel, or each component of each path would be a
	   request.  The attributes are not: a name that is gone has none. */
	config->entry_timeout = 60;
	config->attr_timeout = 0;
	config->negative_timeout = 0;
	config->direct_io = 1;
	config->nullpath_ok = 0;
	return NULL;
}

static void describe(const struct sy_node *node, struct stat *st)
{
	st->st_mode = node->mode;
	st->st_nlink = S_ISDIR(node->mode) ? 2 : 1;
	st->st_uid = geteuid();
	st->st_gid = getegid();
	st->st_mtime = st->st_ctime = st->st_atime = started;
	if (S_ISREG(node->mode))
		st->st_size = ATTRIBUTE_BYTES;
	else if (S_ISLNK(node->mode))
		st->st_size = (off_t)strlen(node->text);
}

static int fs_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	const struct sy_node *node;

	memset(st, 0, sizeof(*st));
	sy_lock();
	node = find(path);
	if (node)
		describe(node, st);
	sy_unlock();
	return node ? 0 : -ENOENT;
}

static int fs_readlink(const char *path, char *buffer, size_t size)
{
	const struct sy_node *node;
	int r = -ENOENT;

	sy_lock();
	node = find(path);
	if (node && S_ISLNK(node->mode))
		r = snprintf(buffer, size, "%s", node->text) < 0 ? -EIO : 0;
	else if (node)
		r = -EINVAL;
	sy_unlock();
	return r;
}

static int fs_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
	struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	const struct sy_node *node;

	sy_lock();
	node = find(path);
	if (node) {
		fill(buffer, ".", NULL, 0, 0);
		fill(buffer, "..", NULL, 0, 0);
	}
	for (const struct sy_node *child = node ? node->first : NULL; child;
		child = child->next)
		fill(buffer, child->name, NULL, 0, 0);
	sy_unlock();
	return node ? 0 : -ENOENT;
}

static bool allows(const struct sy_node *node, int flags)
{
	const mode_t bits = fuse_get_context()->uid == geteuid() ? 0777 : 0007;
	int access = flags & O_ACCMODE;

	return (access == O_WRONLY || node->mode & bits & 0444) &&
	       (access == O_RDONLY || node->mode & bits & 0222);
}

static int fs_open(const char *path, struct fuse_file_info *fi)
{
	const struct sy_node *node;
	int r = 0;

	sy_lock();
	node = find(path);
	if (!node)
		r = -ENOENT;
	else if (!allows(node, fi->flags))
		r = -EACCES;
	sy_unlock();
	if (r == 0)
		fi->fh = (uint64_t)(uintptr_t)sy_alloc(1, sizeof(struct handle));
	return r;
}

static int fs_release(const char *path, struct fuse_file_info *fi)
{
	struct handle *handle = (struct handle *)(uintptr_t)fi->fh;

	sy_text_free(&handle->text);
	free(handle);
	return 0;
}

static int show(const char *path, struct sy_text *text)
{
	struct sy_fault fault;
	struct sy_node *node;
	int r;

	sy_lock();
	fault = sy_fault_for("read", path);
	sy_unlock();
	sy_pause(fault.delay_ms);
	if (fault.action == SY_FAIL)
		return -fault.error;
	text->used = 0;
	sy_lock();
	node = find(path);
	r = !node ? -ENODEV : node->show ? node->show(node, text) : -EIO;
	sy_unlock();
	return r;
}

static int fs_read(const char *path, char *buffer, size_t size, off_t offset,
	struct fuse_file_info *fi)
{
	struct handle *handle = (struct handle *)(uintptr_t)fi->fh;
	int r = offset == 0 ? show(path, &handle->text) : 0;

	if (r < 0)
		return r;
	if ((size_t)offset >= handle->text.used)
		return 0;
	if (size > handle->text.used - (size_t)offset)
		size = handle->text.used - (size_t)offset;
	memcpy(buffer, handle->text.data + offset, size);
	return (int)size;
}

static int fs_write(const char *path, const char *buffer, size_t size, off_t offset,
	struct fuse_file_info *fi)
{
	char text[ATTRIBUTE_BYTES + 1];
	int r;

	if (size > ATTRIBUTE_BYTES)
		size = ATTRIBUTE_BYTES;
	memcpy(text, buffer, size);
	text[size] = '\0';
	r = sy_write(path, text, fuse_get_context()->pid);
	return r < 0 ? r : (int)size;
}

/* --- Calls that a shell makes, and that sysfs refuses --- */

static int fs_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	return 0;
}

static int fs_utimens(
	const char *path, const struct timespec times[2], struct fuse_file_info *fi)
{
	return 0;
}

static int fs_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	return -EACCES;
}

static int fs_mknod(const char *path, mode_t mode, dev_t device)
{
	return -EACCES;
}

static int fs_mkdir(const char *path, mode_t mode)
{
	return -EPERM;
}

static int fs_unlink(const char *path)
{
	return -EPERM;
}

static int fs_rename(const char *from, const char *to, unsigned flags)
{
	return -EPERM;
}

static int fs_symlink(const char *target, const char *path)
{
	return -EPERM;
}

static const struct fuse_operations operations = {
	.init = fs_init,
	.getattr = fs_getattr,
	.readlink = fs_readlink,
	.readdir = fs_readdir,
	.open = fs_open,
	.release = fs_release,
	.read = fs_read,
	.write = fs_write,
	.truncate = fs_truncate,
	.utimens = fs_utimens,
	.create = fs_create,
	.mknod = fs_mknod,
	.mkdir = fs_mkdir,
	.unlink = fs_unlink,
	.rmdir = fs_unlink,
	.rename = fs_rename,
	.symlink = fs_symlink,
};

/* --- The mount --- */

static struct fuse *make(void)
{
	struct fuse_args arguments = FUSE_ARGS_INIT(0, NULL);
	struct fuse *fuse;

	/* Only root may let other users in without a setting of the system.  With the
	   kernel's check of permissions each component of each path is a request:
	   allows() checks instead. */
	if (fuse_opt_add_arg(&arguments, "cleave-double-sysfs") < 0 ||
		fuse_opt_add_arg(&arguments, "-osubtype=cleave-double-sysfs") < 0 ||
		fuse_opt_add_arg(&arguments,
			geteuid() ? "-odefault_permissions" : "-oallow_other") < 0)
		sy_die("out of memory");
	fuse = fuse_new(&arguments, &operations, sizeof(operations), NULL);
	fuse_opt_free_args(&arguments);
	return fuse;
}

static struct fuse_session *session;

/* Threads that wait for a VF to be released must not delay the end of the loop. */
static void on_signal(int number)
{
	sy_end_waits();
	fuse_session_exit(session);
}

static void watch_signals(struct fuse *fuse)
{
	static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
	const struct sigaction action = {.sa_handler = on_signal};

	session = fuse_get_session(fuse);
	for (size_t i = 0; i < SY_COUNT(ends); i++)
		sigaction(ends[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* A thread for each blocking write, and some more. */
static void loop(struct fuse *fuse)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();

	if (!config)
		sy_die("out of memory");
	fuse_loop_cfg_set_max_threads(config, MOST_THREADS);
	fuse_loop_mt(fuse, config);
	fuse_loop_cfg_destroy(config);
}

int sy_mount(const char *mount_point)
{
	struct fuse *fuse = make();

	started = time(NULL);
	if (!fuse || fuse_mount(fuse, mount_point) < 0) {
		fprintf(stderr, "cleave-double-sysfs: FUSE cannot be mounted here\n");
		return SKIP;
	}
	watch_signals(fuse);
	printf("ready\n");
	fflush(stdout);
	loop(fuse);
	fuse_unmount(fuse);
	return 0;
}
