/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/launch/program-folder.h"

#include "base/error.h"
#include "base/paths.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOCKET_NAME "lease.sock"
#define OPEN_FOLDERS 8

static int remove_one(
	const char *path, const struct stat *st, int type, struct FTW *position)
{
	(void)remove(path);
	return 0;
}

/* Only the user can change what is below: the folder above is the user's own. */
void clv_program_folder_remove(const char *path)
{
	nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Whether the agent has removed the lease's folder, to which the link to the socket
 * leads.  While no agent runs the folder stays. */
static bool has_ended(const char *folder)
{
	char path[CLV_PATH_MAX], target[CLV_PATH_MAX], *slash;
	ssize_t length;

	snprintf(path, sizeof(path), "%s/" SOCKET_NAME, folder);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return false;
	target[length] = '\0';
	slash = strrchr(target, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return access(target, F_OK) < 0 && errno == ENOENT;
}

static void remove_ended(const char *parent)
{
	char path[CLV_PATH_MAX];
	const struct dirent *entry;
	DIR *folder = opendir(parent);

	while (folder && (entry = readdir(folder))) {
		snprintf(path, sizeof(path), "%s/%s", parent, entry->d_name);
		if (entry->d_name[0] != '.' && has_ended(path))
			clv_program_folder_remove(path);
	}
	if (folder)
		closedir(folder);
}

static int make_temporary(char *ret, size_t ret_bytes, struct clv_error *err)
{
	snprintf(ret, ret_bytes, "/tmp/cleave-run-XXXXXX");
	if (!mkdtemp(ret))
		return clv_error_errno(err, errno, "cannot make a folder in /tmp");
	return 0;
}

/* The id of the lease: the name of its socket's folder. */
static int find_id(const char *lease_socket, char *ret, size_t ret_bytes)
{
	const char *end = strrchr(lease_socket, '/'), *begin = end;

	while (begin && begin > lease_socket && begin[-1] != '/')
		begin--;
	if (!begin || begin == end || (size_t)(end - begin) >= ret_bytes)
		return -EINVAL;
	snprintf(ret, ret_bytes, "%.*s", (int)(end - begin), begin);
	return 0;
}

int clv_program_folder_make(
	const char *lease_socket, char *ret, size_t ret_bytes, struct clv_error *err)
{
	char parent[CLV_PATH_MAX], id[64];
	int length;

	if (find_id(lease_socket, id, sizeof(id)) < 0 ||
		clv_path_user_runtime(true, parent, sizeof(parent), NULL) < 0)
		return make_temporary(ret, ret_bytes, err);
	strncat(parent, "/programs", sizeof(parent) - strlen(parent) - 1);
	if (clv_path_make(parent, 0700, NULL) < 0)
		return make_temporary(ret, ret_bytes, err);
	remove_ended(parent);
	length = snprintf(ret, ret_bytes, "%s/%s", parent, id);
	if (length < 0 || (size_t)length >= ret_bytes)
		return make_temporary(ret, ret_bytes, err);
	return clv_path_make(ret, 0700, err);
}
