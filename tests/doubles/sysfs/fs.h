/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shows the tree at the mount point until a signal comes.  The exit status: 77 where FUSE
 * cannot be had. */
int sy_mount(const char *mount_point);

/* Unmounts it when this process ends in whatever way, even by SIGKILL: a process of its
 * own waits for that.  Call before the mount and before there are threads. */
void sy_guard(const char *mount_point);

/* What a process that was killed has left mounted there. */
void sy_unmount_dead(const char *mount_point);
