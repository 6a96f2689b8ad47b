/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/services/engine/freezer.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX_BYTES 65536u

/* Where the freezer of version 1, or version 2, is mounted. */
static bool find_mount(bool is_of_v1, char ret[CLV_PATH_MAX])
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	bool is_found = false;
	char buffer[CLV_PATH_MAX + 1024];
	struct mntent entry;

	while (mounts && !is_found &&
		getmntent_r(mounts, &entry, buffer, sizeof(buffer))) {
		if (is_of_v1 ? strcmp(entry.mnt_type, "cgroup") != 0 ||
					!hasmntopt(&entry, "freezer")
			     : strcmp(entry.mnt_type, "cgroup2") != 0)
			continue;
		is_found =
			snprintf(ret, CLV_PATH_MAX, "%s", entry.mnt_dir) < CLV_PATH_MAX;
	}
	if (mounts)
		endmntent(mounts);
	return is_found;
}

/* Cuts the path after the folder that has the container's id in its name: of a program
 * that is not in one of its own, nothing else may freeze with it. */
static bool cut_to_container(char *path, const char *id)
{
	char *at = *id ? strstr(path, id) : NULL;

	if (!at)
		return false;
	at[strcspn(at, "/")] = '\0';
	return true;
}

/* A line "NUMBER:CONTROLLERS:PATH" of /proc/PID/cgroup; version 2 has no controllers. */
static bool read_line(char *line, const char *id, bool is_of_v1, struct clv_freezer *ret)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(++controllers, ':') : NULL;
	char mount[CLV_PATH_MAX];

	if (!path)
		return false;
	*path++ = '\0';
	if (strcmp(controllers, is_of_v1 ? "freezer" : "") != 0 ||
		!cut_to_container(path, id) || !find_mount(is_of_v1, mount) ||
		snprintf(ret->path, sizeof(ret->path), "%s%s/%s", mount, path,
			is_of_v1 ? "freezer.state" : "cgroup.freeze") >=
			(int)sizeof(ret->path))
		return false;
	ret->is_of_v1 = is_of_v1;
	return access(ret->path, W_OK) == 0;
}

static bool find(const char *text, const char *id, bool is_of_v1, struct clv_freezer *ret)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *line;

	while (copy && (line = strsep(&rest, "\n"))) {
		if (read_line(line, id, is_of_v1, ret))
			return true;
	}
	return false;
}

int clv_freezer_find(
	pid_t pid, const char *id, struct clv_freezer *ret, struct clv_error *err)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	int r;

	*ret = (struct clv_freezer){0};
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	r = clv_file_read_all(path, TEXT_MAX_BYTES, &text, NULL, err);
	if (r < 0)
		return r;
	if (find(text, id, true, ret) || find(text, id, false, ret))
		return 0;
	ret->path[0] = '\0';
	return clv_error_set(err, -ENOENT,
		"its container has no cgroup of its own that can be frozen");
}

static int write_state(
	const struct clv_freezer *freezer, const char *state, struct clv_error *err)
{
	_cleanup_close_ int fd = open(freezer->path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, state, strlen(state));

	return n > 0 ? 0 : clv_error_errno(err, errno, "cannot write %s", freezer->path);
}

int clv_freezer_freeze(const struct clv_freezer *freezer, struct clv_error *err)
{
	return write_state(freezer, freezer->is_of_v1 ? "FROZEN" : "1", err);
}

int clv_freezer_thaw(const struct clv_freezer *freezer, struct clv_error *err)
{
	return write_state(freezer, freezer->is_of_v1 ? "THAWED" : "0", err);
}

/* Version 2 tells it in another file: its control says what was asked for. */
bool clv_freezer_is_frozen(const struct clv_freezer *freezer)
{
	_cleanup_free_ char *text = NULL;
	char path[CLV_PATH_MAX], *slash;

	snprintf(path, sizeof(path), "%s", freezer->path);
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	if (!freezer->is_of_v1)
		snprintf(slash, sizeof(path) - (size_t)(slash - path), "/cgroup.events");
	if (clv_file_read_all(path, TEXT_MAX_BYTES, &text, NULL, NULL) < 0)
		return false;
	return freezer->is_of_v1 ? strncmp(text, "FROZEN", strlen("FROZEN")) == 0
				 : strstr(text, "frozen 1") != NULL;
}
