/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Serves the tree at the mount point until a signal comes. Returns the exit status: 77
 * where FUSE is not available. */
int sy_mount(const char *mount_point);

/* Unmounts it when this process ends in any way, even by SIGKILL: a separate process
 * waits for that. Call before the mount and before there are threads. */
void sy_guard(const char *mount_point);

/* Unmounts a mount left by a killed process. */
void sy_unmount_dead(const char *mount_point);
