/* SPDX-License-Identifier: Apache-2.0 */
/* The prolog saves the node's layout before it changes anything, so that the epilog
 * restores it after any outcome.  If the epilog never ran, the next prolog restores it.
 * Slurm drains a node whose prolog or epilog fails. */
#include "cli/engine/slurm-layout.h"

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "bridge/slurm/ask.h"
#include "cli/engine/slurm-job.h"
#include "cli/frame/cli.h"
#include "cli/frame/input.h"
#include "cli/node/change.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Not in /run, since the saved layout must survive a restart of the machine. */
#define KEPT_FOLDER "/var/lib/cleave-slurm"
#define KEPT_NAME "-before.yaml" /* after the job's number */

static const char *folder_of(const struct clv_slurm_settings *s)
{
	return s->kept ? s->kept : KEPT_FOLDER;
}

static void path_of(const struct clv_slurm_settings *s, char ret[CLV_PATH_MAX])
{
	snprintf(ret, CLV_PATH_MAX, "%s/%llu" KEPT_NAME, folder_of(s),
		(unsigned long long)s->job);
}

/* Finds the layout of a job whose epilog never ran, as after a restart of the machine. */
static bool find_left(const struct clv_slurm_settings *s, char ret[CLV_PATH_MAX])
{
	DIR *folder = opendir(folder_of(s));
	struct dirent *entry;
	bool is_found = false;

	while (folder && !is_found && (entry = readdir(folder))) {
		const char *rest = entry->d_name + strspn(entry->d_name, "0123456789");

		is_found = rest != entry->d_name && strcmp(rest, KEPT_NAME) == 0;
		if (is_found)
			snprintf(ret, CLV_PATH_MAX, "%s/%s", folder_of(s), entry->d_name);
	}
	if (folder)
		closedir(folder);
	return is_found;
}

static int apply_text(struct clv_change *change, const char *text, const char *name)
{
	struct clv_client_layout layout = {
		.text = text, .n_bytes = strlen(text), .name = name, .on_busy = "fail"};
	_cleanup_json_ json_t *operation = NULL;
	struct clv_client_error err;

	if (clv_client_apply(change->client, &layout, &operation, &err) < 0)
		return clv_change_fail_start(change, &err);
	return clv_change_follow(change, &operation);
}

static int save_layout(
	struct clv_change *change, const struct clv_slurm_settings *s, const char *path)
{
	_cleanup_json_ json_t *layout = NULL;
	struct clv_client_error client_err;
	struct clv_error err;

	if (clv_client_layout_get(change->client, false, &layout, &client_err) < 0)
		return clv_change_fail(change, &client_err);
	if (clv_path_make(folder_of(s), 0700, &err) < 0 ||
		clv_file_replace(path, clv_json_text(layout, "layout"), &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	return 0;
}

static int restore(const struct clv_slurm_settings *s, const char *path)
{
	_cleanup_change_ struct clv_change change = {.signal_fd = -1};
	_cleanup_free_ char *text = NULL;
	struct clv_error err;
	int r;

	if (clv_file_read_all(path, CLV_INPUT_LAYOUT_BYTES, &text, NULL, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	r = clv_change_begin(&s->request.common, false, &change);
	if (!r)
		r = apply_text(&change, text, "the layout before the job");
	if (!r)
		unlink(path);
	return r;
}

static int divide(
	const struct clv_slurm_settings *s, const char *layout, const char *path)
{
	_cleanup_change_ struct clv_change change = {.signal_fd = -1};
	_cleanup_input_ struct clv_input input = {};
	bool is_new = access(path, F_OK) < 0;
	int r = clv_input_read(layout, CLV_INPUT_LAYOUT_BYTES, &input);

	if (!r)
		r = clv_change_begin(&s->request.common, false, &change);
	if (!r && is_new)
		r = save_layout(&change, s, path);
	if (!r)
		r = apply_text(&change, input.text, input.name);
	/* The agent has rolled the failed operation back. */
	if (r && is_new)
		unlink(path);
	return r;
}

int clv_slurm_layout_prolog(const struct clv_slurm_settings *s, const char *layout)
{
	char path[CLV_PATH_MAX], left[CLV_PATH_MAX];
	struct clv_error err;
	int is_alone = clv_slurm_query_exclusive((unsigned int)s->job, &err);

	if (is_alone < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	path_of(s, path);
	if (find_left(s, left) && !is_alone)
		return restore(s, left);
	if (!is_alone)
		return 0;
	if (find_left(s, left) && strcmp(left, path) != 0 && rename(left, path) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot rename %s: %m", left);
	return divide(s, layout, path);
}

int clv_slurm_layout_epilog(const struct clv_slurm_settings *s)
{
	char path[CLV_PATH_MAX];

	path_of(s, path);
	return access(path, F_OK) < 0 ? 0 : restore(s, path);
}
