/* SPDX-License-Identifier: Apache-2.0 */
/* Folders for sockets and state.  A folder that another user owns is refused: its owner
 * could put a socket there and answer in place of the agent. */
#include "base/paths.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int clv_path_make(const char *path, unsigned int mode, struct clv_error *err)
{
	char partial[CLV_PATH_MAX];
	int length = snprintf(partial, sizeof(partial), "%s", path);

	if (length < 0 || (size_t)length >= sizeof(partial))
		return clv_error_errno(err, ENAMETOOLONG, "cannot create %.80s...", path);
	for (char *p = partial + 1;; p++) {
		char ended_by = *p;

		if (ended_by != '/' && ended_by != '\0')
			continue;
		*p = '\0';
		if (mkdir(partial, mode) < 0 && errno != EEXIST)
			return clv_error_errno(err, errno, "cannot create %s", partial);
		if (ended_by == '\0')
			return 0;
		*p = '/';
	}
}

static bool is_own_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static int check_private(const char *path, struct clv_error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return clv_error_errno(err, errno, "cannot use %s", path);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return clv_error_set(err, -EPERM,
			"%s is owned by user %u, not by you (user %u): remove it or set "
			"XDG_RUNTIME_DIR to a folder of your own",
			path, st.st_uid, geteuid());
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return clv_error_set(err, -EPERM,
			"%s may be written by others: run chmod 700 %s", path, path);
	return 0;
}

static int join(char *ret, size_t ret_bytes, const char *folder, struct clv_error *err)
{
	int length = snprintf(ret, ret_bytes, "%s/cleave", folder);

	if (length < 0 || (size_t)length >= ret_bytes)
		return clv_error_errno(err, ENAMETOOLONG, "cannot use %.80s...", folder);
	return 0;
}

int clv_path_user_runtime(bool make, char *ret, size_t ret_bytes, struct clv_error *err)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	char folder[64];
	int r;

	snprintf(folder, sizeof(folder), "/run/user/%u", geteuid());
	if (xdg && xdg[0] == '/')
		r = join(ret, ret_bytes, xdg, err);
	else if (is_own_folder(folder))
		r = join(ret, ret_bytes, folder, err);
	else
		r = snprintf(ret, ret_bytes, "/tmp/cleave-%u", geteuid()) < 0 ? -EINVAL
									      : 0;
	if (r < 0)
		return r;
	if (make && (r = clv_path_make(ret, 0700, err)) < 0)
		return r;
	if (access(ret, F_OK) < 0)
		return make ? clv_error_errno(err, errno, "cannot use %s", ret) : 0;

	return check_private(ret, err);
}

int clv_path_user_state(bool make, char *ret, size_t ret_bytes, struct clv_error *err)
{
	const char *xdg = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char folder[CLV_PATH_MAX];
	int r;

	if (xdg && xdg[0] == '/')
		snprintf(folder, sizeof(folder), "%s", xdg);
	else if (home && home[0] == '/')
		snprintf(folder, sizeof(folder), "%s/.local/state", home);
	else
		snprintf(folder, sizeof(folder), "/tmp/cleave-%u/state", geteuid());
	r = join(ret, ret_bytes, folder, err);
	if (r < 0 || !make)
		return r;

	return clv_path_make(ret, 0700, err);
}
