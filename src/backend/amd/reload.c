/* SPDX-License-Identifier: Apache-2.0 */
/* Reloads amdgpu, which applies a requested memory mode. */
#include "backend/amd/amd.h"

#include "backend/command.h"
#include "backend/files.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const unload[] = {"modprobe", "-r", "amdgpu", NULL};
static const char *const load[] = {"modprobe", "amdgpu", NULL};

static int modprobe(const char *const *argv, char *ret_said, size_t said_bytes)
{
	int r = clv_command_run(argv, ret_said, said_bytes);

	if (r < 0)
		snprintf(ret_said, said_bytes, "modprobe: %s", strerror(-r));
	return r;
}

/* An interrupted reload leaves the machine without a driver, so no GPU is visible.  This
 * file marks a reload in progress; clv_amd_complete_reload() of the next process
 * completes it.
 */
static const char *mark_path(void)
{
	return getenv("CLEAVE_AMD_RELOAD");
}

static void set_mark(void)
{
	int fd = mark_path() ? open(mark_path(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)
			     : -1;

	if (fd >= 0)
		close(fd);
}

static void clear_mark(void)
{
	if (mark_path())
		unlink(mark_path());
}

int clv_amd_complete_reload(struct clv_error *err)
{
	char said[160];

	if (!mark_path() || access(mark_path(), F_OK) < 0)
		return 0;
	if (modprobe(load, said, sizeof(said)) != 0)
		return clv_error_set(err, -EIO,
			"a reload of amdgpu was interrupted and amdgpu cannot be loaded "
			"(%s): no AMD GPU works until it is loaded; see dmesg",
			said);
	clear_mark();
	return 0;
}

/* Cards of other drivers do not block the reload.  A link that cannot be read counts as
 * amdgpu's. */
static bool is_of_amdgpu(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	char driver[32];

	return clv_file_link(driver, sizeof(driver), "class/drm/%s/device/driver", name) <
		       0 ||
	       strcmp(driver, "amdgpu") == 0;
}

/* Users of a module: processes with its device files open, and other modules. */
static void describe_users(char *ret, size_t ret_bytes)
{
	static const char *const devices[] = {"/dev/kfd", "/dev/dri/"};
	_cleanup_openers_ struct clv_openers openers = {0};
	_cleanup_names_ struct clv_names modules = {0};
	struct clv_holders holders = {0};
	int r = clv_openers_find(devices, CLV_ARRAY_SIZE(devices), &openers);

	for (size_t i = 0; r == 0 && i < openers.n; i++) {
		if (is_of_amdgpu(openers.items[i].path))
			r = clv_holders_add_process(&holders, openers.items[i].pid);
	}
	if (clv_file_list(&modules, "module/amdgpu/holders") < 0)
		modules.n = 0;
	for (size_t i = 0; r == 0 && i < modules.n; i++) {
		char text[80];

		snprintf(text, sizeof(text), "the module %.60s", modules.items[i]);
		r = clv_holders_add_text(&holders, text);
	}
	clv_holders_describe(&holders, ret, ret_bytes);
	free(holders.items);
}

int clv_amd_reload_driver(struct clv_backend *base, const struct clv_node_device *device,
	struct clv_error *err)
{
	struct clv_amd_backend *backend = (struct clv_amd_backend *)base;
	char unloading[160], loading[160], who[200] = "";
	int unloaded, loaded;

	set_mark();
	unloaded = modprobe(unload, unloading, sizeof(unloading));
	if (unloaded < 0) {
		clear_mark();
		return clv_error_set(err, -ENOTSUP,
			"amdgpu cannot be reloaded (%s): install the package kmod",
			unloading);
	}
	if (unloaded != 0)
		describe_users(who, sizeof(who));
	/* Also after a failure, because modprobe -r may have removed some of the modules.
	 */
	loaded = modprobe(load, loading, sizeof(loading));
	if (loaded != 0)
		return clv_error_set(err, -EIO,
			"amdgpu cannot be loaded again (%s): no AMD GPU works until it "
			"is loaded; see dmesg",
			loading);
	clear_mark();
	if (unloaded != 0)
		return clv_error_set(err, -EBUSY, "amdgpu cannot be unloaded (%s)%s%s",
			unloading, who[0] != '\0' ? ": in use by " : "", who);
	clv_amd_clear_requests(backend);
	return 0;
}
