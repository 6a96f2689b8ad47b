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

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOCK_PAUSE_MS 100
#define LOCK_TRIES 600
#define WATCH_TRIES 20

void clv_cdi_file_free(struct clv_cdi_file *file)
{
	clv_cdi_driver_free(file->host.driver);
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

static int make_folder(const char *path, struct clv_error *err)
{
	char folder[CLV_PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return 0;
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	return clv_path_make(folder, 0755, err);
}

static bool is_interrupted(int interrupt_fd, int timeout_ms)
{
	struct pollfd wait = {.fd = interrupt_fd ? interrupt_fd : -1, .events = POLLIN};

	return poll(&wait, 1, timeout_ms) > 0;
}

/* Other writers hold it while they wait for their agent.  As clv_cdi_file_update(). */
static int lock(
	const struct clv_cdi_file *file, int *ret_fd, struct clv_client_error *err)
{
	struct clv_error why;
	int r = make_folder(file->path, &why);

	for (int i = 0; r >= 0 && i < LOCK_TRIES; i++) {
		r = clv_file_try_lock(file->path, ret_fd, &why);
		if (r != -EAGAIN)
			break;
		r = 0;
		if (is_interrupted(file->interrupt_fd, LOCK_PAUSE_MS)) {
			err->error = -EINTR;
			return -1;
		}
	}
	if (r < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", why.msg);
	if (*ret_fd >= 0)
		return 0;
	err->error = -EBUSY;
	snprintf(err->msg, sizeof(err->msg),
		"another process has held the lock %.900s.lock for a minute: end it "
		"(fuser -v shows it)",
		file->path);
	return -1;
}

static bool has_text(const char *path, const char *text)
{
	_cleanup_free_ char *now = NULL;
	struct clv_error err;

	return clv_file_read_regular(path, strlen(text), &now, NULL, &err) >= 0 &&
	       strcmp(now, text) == 0;
}

static int write_text(struct clv_cdi_file *file, const char *text)
{
	struct clv_error err;

	if (!file->path)
		return puts(text) < 0 ? CLV_EXIT_FAILED : 0;
	if (has_text(file->path, text))
		return 0;
	if (clv_file_replace(file->path, text, &err) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg);
	if (file->says_changes)
		clv_output_line(stderr, "cleave: %s %s", file->path,
			file->has_written ? "was updated" : "was written");
	file->has_written = true;
	return 0;
}

int clv_cdi_file_update(struct clv_cdi_file *file, struct clv_client *client,
	struct clv_client_error *err)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int lock_fd = -1;
	int r = file->path ? lock(file, &lock_fd, err) : 0;

	if (r)
		return r;
	text = make_text(file, client, err);
	return text ? write_text(file, text) : -1;
}

static int name_watch(const char *path, char ret[CLV_PATH_MAX])
{
	int n = snprintf(ret, CLV_PATH_MAX, "%s.watch", path);

	return n >= CLV_PATH_MAX ? -ENAMETOOLONG : 0;
}

/* One that ends, or asks whether there is one, holds the lock for a moment. */
int clv_cdi_file_begin_watch(const char *path, int *ret_fd)
{
	char name[CLV_PATH_MAX];
	struct clv_error err;
	int r = make_folder(path, &err);

	if (r >= 0 && name_watch(path, name) < 0)
		return clv_cli_fail(CLV_EXIT_USAGE, "%.80s... is too long", path);
	if (r >= 0)
		r = clv_file_try_lock(name, ret_fd, &err);
	for (int i = 0; r == -EAGAIN && i < WATCH_TRIES; i++) {
		is_interrupted(0, LOCK_PAUSE_MS);
		r = clv_file_try_lock(name, ret_fd, &err);
	}
	if (r == -EAGAIN)
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"another 'cleave cdi watch' keeps %s up to date: end it, or give "
			"a file of its own (--to)",
			path);
	return r < 0 ? clv_cli_fail(CLV_EXIT_FAILED, "%s", err.msg) : 0;
}

bool clv_cdi_file_is_watched(const char *path)
{
	char name[CLV_PATH_MAX];

	return name_watch(path, name) == 0 && clv_file_is_locked(name);
}
