/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

/* Reads the metadata that the kernel has cached for a file, by path or, with an empty
 * path, by descriptor.  stat() calls the file system, and one of a tenant (FUSE) may
 * never answer.  False: there is no such file. */
static inline bool clv_stat_known(int fd, const char *path, struct statx *ret)
{
	return statx(fd, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO,
		       ret) == 0;
}

static inline bool clv_stat_is_same(const struct statx *a, const struct statx *b)
{
	return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major &&
	       a->stx_dev_minor == b->stx_dev_minor;
}
