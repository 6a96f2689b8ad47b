/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the undo log, in plugins/DRIVER/FOLDER of kubelet's folder. */
#include "bridge/kubernetes/lease/undo-log.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/paths.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_MAX_BYTES (2 * CLV_KUBE_PATH_MAX + CLV_KUBE_UNDO_MAX)
#define MS_PER_S 1000u
#define UNFINISHED ".new"

static void find_folder(const struct clv_kube_settings *settings, const char *folder,
	char ret[PATH_MAX_BYTES])
{
	snprintf(ret, PATH_MAX_BYTES, "%s/plugins/%s/%s", settings->kubelet,
		settings->driver, folder);
}

/* Slashes are replaced: "gpu0/1g.10gb@4" becomes "gpu0%1g.10gb@4". */
static void find_path(const struct clv_kube_settings *settings, const char *folder,
	const char *name, char ret[PATH_MAX_BYTES])
{
	size_t n_folder;

	find_folder(settings, folder, ret);
	n_folder = strlen(ret);
	snprintf(ret + n_folder, PATH_MAX_BYTES - n_folder, "/%s", name);
	for (char *p = ret + n_folder + 1; *p != '\0'; p++)
		*p = *p == '/' ? '%' : *p;
}

int clv_kube_undo_write(const struct clv_kube_settings *settings, const char *folder,
	const char *name, const char *text, struct clv_error *err)
{
	char path[PATH_MAX_BYTES];
	int r;

	find_folder(settings, folder, path);
	r = clv_path_make(path, 0700, err);
	find_path(settings, folder, name, path);
	return r < 0 ? r : clv_file_replace(path, text, err);
}

char *clv_kube_undo_read(
	const struct clv_kube_settings *settings, const char *folder, const char *name)
{
	char path[PATH_MAX_BYTES], *text = NULL;

	find_path(settings, folder, name, path);
	return clv_file_read_all(path, CLV_KUBE_UNDO_MAX, &text, NULL, NULL) < 0 ? NULL
										 : text;
}

bool clv_kube_undo_exists(
	const struct clv_kube_settings *settings, const char *folder, const char *name)
{
	char path[PATH_MAX_BYTES];

	find_path(settings, folder, name, path);
	return access(path, F_OK) == 0;
}

void clv_kube_undo_remove(
	const struct clv_kube_settings *settings, const char *folder, const char *name)
{
	char path[PATH_MAX_BYTES];

	find_path(settings, folder, name, path);
	unlink(path);
}

uint64_t clv_kube_undo_age_ms(
	const struct clv_kube_settings *settings, const char *folder, const char *name)
{
	uint64_t now_ms = clv_clock_real_ns() / CLV_NS_PER_MS, then_ms;
	char path[PATH_MAX_BYTES];
	struct stat st;

	find_path(settings, folder, name, path);
	if (stat(path, &st) < 0)
		return 0;
	then_ms = (uint64_t)st.st_mtim.tv_sec * MS_PER_S +
		  (uint64_t)st.st_mtim.tv_nsec / CLV_NS_PER_MS;
	return now_ms >= then_ms ? now_ms - then_ms : UINT64_MAX;
}

/* A temporary file of an interrupted clv_file_replace(): the thing was not created yet.
 */
static bool is_unfinished(const char *file)
{
	size_t n = strlen(file), n_ending = strlen(UNFINISHED);

	return n > n_ending && strcmp(file + n - n_ending, UNFINISHED) == 0;
}

void clv_kube_undo_each(const struct clv_kube_settings *settings, const char *folder,
	void (*look)(const char *name, const char *text, void *userdata), void *userdata)
{
	char path[PATH_MAX_BYTES], name[CLV_KUBE_UNDO_MAX];
	const struct dirent *file;
	DIR *files;

	find_folder(settings, folder, path);
	files = opendir(path);
	while (files && (file = readdir(files))) {
		_cleanup_free_ char *text = NULL;

		if (file->d_name[0] == '.' || is_unfinished(file->d_name))
			continue;
		snprintf(name, sizeof(name), "%s", file->d_name);
		for (char *p = name; *p != '\0'; p++)
			*p = *p == '%' ? '/' : *p;
		text = clv_kube_undo_read(settings, folder, name);
		if (text)
			look(name, text, userdata);
	}
	if (files)
		closedir(files);
}
