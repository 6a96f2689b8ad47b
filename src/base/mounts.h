/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;

/* Mounts that are to be seen in a mount namespace alone, by a process that has just made
 * one with unshare(). */

/* Mounts made outside go on appearing inside, never the other way.  In a chroot, the root
 * is a folder inside a mount that has no name here: all that can be named is made a
 * slave, and clv_bind_mount() looks whether the rest is shared. */
int clv_mounts_make_slaves(struct clv_error *err);

/* One of them.  It is made before the namespace is left, for it holds the folder of `to`
 * as it is seen there.  Paths are absolute and borrowed. */
struct clv_bind {
	const char *from, *to;
	int folder_fd;
};

struct clv_bind clv_bind_make(const char *from, const char *to);
/* -EPERM, with the mount undone, where it would be seen outside. */
int clv_bind_mount(const struct clv_bind *bind, struct clv_error *err);
void clv_bind_done(struct clv_bind *bind);
