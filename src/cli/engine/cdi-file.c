/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/engine/cdi-file.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "bridge/cdi/driver.h"
#include "bridge/cdi/host.h"
#include "bridge/cdi/reserve.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/launch/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void clv_cdi_file_free(struct clv_cdi_file *file)
{
	clv_cdi_driver_free(file->host.driver);
	free(file->written);
}

int clv_cdi_file_init(struct clv_cdi_file *file, const char *driver_root)
{
	struct clv_cdi_driver *driver = NULL;
	struct clv_error err;

	if (clv_program_find_gate(file->gates, sizeof(file->gates), &err) < 0 ||
		clv_cdi_driver_new(driver_root ? driver_root : "/", CLV_CDI_SPECS,
			&driver, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	file->host.driver = driver;
	*strrchr(file->gates, '/') = '\0';
	if (clv_cdi_find_hook(file->gates, file->hook, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	file->host.gates = file->gates;
	file->host.hook = file->hook;
	return 0;
}

/* Makes the specification, which the caller frees; NULL with *err set. */
static char *make_text(struct clv_cdi_file *file, struct clv_client *client,
	struct clv_client_error *err)
{
	_cleanup_json_ json_t *leases = NULL, *spec = NULL;
	struct clv_error why = {};
	char *text = NULL;
	int r;

	if (file->reserves && clv_cdi_reserve(client, err) < 0)
		return NULL;
	if (clv_client_leases(client, &leases, err) < 0)
		return NULL;
	r = clv_cdi_spec(json_object_get(leases, "items"), &file->host, &spec, &why);
	if (r > 0 && strcmp(why.msg, file->left_out.msg) != 0)
		clv_output_line(
			stderr, "cleave: leases that are left out: %d; %s", r, why.msg);
	file->left_out = why;
	if (r >= 0)
		text = json_dumps(spec, JSON_INDENT(2));
	if (!text)
		snprintf(err->msg, sizeof(err->msg), "no memory for the specification");
	return text;
}

/* Creates the folder of the file if it is missing. */
static int lock(const char *path, int *ret_fd)
{
	char folder[CLV_PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct clv_error err;
	int r = 0;

	if (slash && slash > path) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		r = clv_path_make(folder, 0755, &err);
	}
	if (r >= 0)
		r = clv_file_lock(path, ret_fd, &err);
	return r < 0 ? clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg) : 0;
}

static int write_text(const struct clv_cdi_file *file, const char *text)
{
	struct clv_error err;

	if (!file->path)
		return puts(text) < 0 ? CLV_EXIT_FAILED : 0;
	if (clv_file_replace(file->path, text, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	if (file->says_changes)
		clv_output_line(stderr, "cleave: %s %s", file->path,
			file->written ? "was updated" : "was written");
	return 0;
}

int clv_cdi_file_update(struct clv_cdi_file *file, struct clv_client *client,
	struct clv_client_error *err)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int lock_fd = -1;
	int r = file->path ? lock(file->path, &lock_fd) : 0;

	if (r)
		return r;
	text = make_text(file, client, err);
	if (!text)
		return -1;
	if (file->written && strcmp(file->written, text) == 0)
		return 0;
	r = write_text(file, text);
	free(file->written);
	file->written = CLV_TAKE(text);
	return r;
}
