/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clv_error;

/* Mounts that are visible only in the mount namespace that the caller has just
 * created with unshare(). */

/* Makes all mounts slaves: later mounts outside still appear inside, but not the other
 * way.  In a chroot whose root is not a mount point, the mount of the root has no name:
 * only the mounts that have one are made slaves, and clv_bind_mount() checks whether its
 * mount has propagated. */
int clv_mounts_make_slaves(struct clv_error *err);

/* An entry of a folder in memory: a link to the text, or a file that has it. */
struct clv_mount_entry {
	const char *name, *text;
	bool is_link;
};

/* One bind mount.  It must be created before unshare(): folder_fd is the folder of `to`
 * in the old namespace, by which clv_bind_mount() sees whether its mount has propagated
 * there.  Paths and entries are borrowed, paths absolute.  With entries not `from` itself
 * is mounted, but a folder in memory that has them and is read-only. */
struct clv_bind {
	const char *from, *to;
	int folder_fd;
	const struct clv_mount_entry *entries;
	size_t n_entries;
};

struct clv_bind clv_bind_open(const char *from, const char *to);
/* Mounts `from` on `to`.  A mount that has propagated to the old namespace is undone, and
 * the result is -EPERM. */
int clv_bind_mount(const struct clv_bind *bind, struct clv_error *err);
void clv_bind_close(struct clv_bind *bind);
