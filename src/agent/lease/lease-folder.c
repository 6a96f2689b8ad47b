/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a lease, RUNTIME/lease/ID.  It stays the agent's, so a tenant cannot fill
 * the file system of /run; only the socket in it is the tenant's, who may enter the
 * folder and not list it.  The files of cleave run are in a folder of the tenant's own.
 * A folder that an earlier version gave to a tenant is taken back before it is changed:
 * there a name may become a symbolic link at any moment (TOCTOU). */
#include "agent/lease/lease.h"

#include "agent/device/devices.h"
#include "agent/record/agent.h"
#include "arbiter/attach.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define DOOR "door"

void clv_lease_folder(const struct clv_lease *lease, char *ret, size_t ret_bytes)
{
	snprintf(ret, ret_bytes, "%s/lease/%s", lease->agent->config.runtime,
		lease->record.id);
}

/* If any process that reaches the socket may attach, the socket is in a folder of its
 * own, "door".  Only that is mounted for other users, who cannot enter the lease's
 * folder. */
static bool has_door(const struct clv_lease *lease)
{
	return lease->record.admit == CLV_ADMIT_SOCKET;
}

void clv_lease_socket(const struct clv_lease *lease, char *ret, size_t ret_bytes)
{
	snprintf(ret, ret_bytes, "%s/lease/%s/%s%s", lease->agent->config.runtime,
		lease->record.id, has_door(lease) ? DOOR "/" : "",
		CLV_ATTACH_SOCKET_NAME);
}

static int open_folder(const struct clv_lease *lease)
{
	char path[CLV_FOLDER_MAX + 64];

	clv_lease_folder(lease, path, sizeof(path));
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int take_back(const struct clv_lease *lease)
{
	_cleanup_close_ int fd = open_folder(lease);

	if (fd < 0)
		return -errno;
	if (fchown(fd, geteuid(), (gid_t)-1) < 0 || fchmod(fd, 0700) < 0)
		return -errno;
	return 0;
}

static int make_parent(const struct clv_agent *agent, struct clv_error *err)
{
	char path[CLV_FOLDER_MAX + 16];

	snprintf(path, sizeof(path), "%s/lease", agent->config.runtime);
	return clv_path_make(path, agent->config.is_system ? 0755 : 0700, err);
}

static int make_door(const struct clv_lease *lease)
{
	_cleanup_close_ int fd = open_folder(lease);

	if (fd < 0 || (mkdirat(fd, DOOR, 0755) < 0 && errno != EEXIST) ||
		fchmodat(fd, DOOR, 0755, 0) < 0)
		return -errno;
	return 0;
}

static int put(int folder, const char *name, const char *text, size_t n_bytes)
{
	_cleanup_close_ int fd = openat(folder, name,
		O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	if (write(fd, text, n_bytes) != (ssize_t)n_bytes)
		return -EIO;
	return fchmod(fd, 0644) < 0 ? -errno : 0;
}

/* Writes beside the socket which devices the lease has: by that a gate chooses one of
 * the leases of its container.  A gate may be reading the file of an earlier agent. */
static int put_devices(const struct clv_lease *lease)
{
	_cleanup_close_ int fd = open_folder(lease);
	char text[CLV_ATTACH_DEVICES_BYTES];
	const struct clv_agent_device *device;
	size_t used = 0;
	int r;

	if (fd < 0)
		return -errno;
	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++) {
		size_t room = sizeof(text) - used;
		int n = snprintf(text + used, room, "%s %s\n", device->info.backend,
			device->info.uuid);

		if (n < 0 || (size_t)n >= room)
			break;
		used += (size_t)n;
	}
	r = put(fd, DOOR "/" CLV_ATTACH_DEVICES_NAME ".new", text, used);
	if (r < 0)
		return r;
	return renameat(fd, DOOR "/" CLV_ATTACH_DEVICES_NAME ".new", fd,
		       DOOR "/" CLV_ATTACH_DEVICES_NAME) < 0
		       ? -errno
		       : 0;
}

int clv_lease_make_folder(const struct clv_lease *lease, struct clv_error *err)
{
	char path[CLV_FOLDER_MAX + 64];
	int r;

	clv_lease_folder(lease, path, sizeof(path));
	r = mkdir(path, 0700);
	if (r < 0 && errno == ENOENT) {
		r = make_parent(lease->agent, err);
		if (r < 0)
			return r;
		r = mkdir(path, 0700);
	}
	if (r < 0 && errno != EEXIST)
		return clv_error_errno(err, errno, "cannot make %s", path);
	r = take_back(lease);
	if (r >= 0 && has_door(lease))
		r = make_door(lease);
	if (r >= 0 && has_door(lease))
		r = put_devices(lease);
	return r < 0 ? clv_error_errno(err, -r, "cannot use %s", path) : 0;
}

int clv_lease_give_socket(const struct clv_lease *lease, struct clv_error *err)
{
	_cleanup_close_ int fd = -1;

	if (lease->record.uid == geteuid() || has_door(lease))
		return 0;
	fd = open_folder(lease);
	if (fd < 0 ||
		fchownat(fd, CLV_ATTACH_SOCKET_NAME, lease->record.uid, lease->record.gid,
			AT_SYMLINK_NOFOLLOW) < 0 ||
		fchmod(fd, 0711) < 0)
		return clv_error_errno(err, errno,
			"cannot give the lease's socket to user %u", lease->record.uid);
	return 0;
}

/* Removes what cleave run creates there, in case it was killed before its cleanup.  The
 * folders inside still belong to the tenant, so names are resolved relative to open
 * folders and symbolic links are not followed. */
static void remove_namespace(int fd)
{
	static const char *const entries[][2] = {
		{"vendors", "cleave.icd"},
		{"vendors", CLV_GATE_OPENCL},
		{"vendors", CLV_ATTACH_SOCKET_NAME},
		{"vendors", CLV_LEASE_OPEN},
		{"vendors", "vendors.real"},
		{"vendors.real", "chosen.icd"},
		{CLV_DRIVERS, CLV_DRIVER_CUDA},
		{CLV_DRIVERS, CLV_DRIVER_NVML},
		{CLV_DRIVERS, CLV_DRIVER_HSA},
		{CLV_DRIVERS, CLV_DRIVER_HIP_5},
		{CLV_DRIVERS, CLV_DRIVER_HIP_6},
		{CLV_DRIVERS, CLV_DRIVER_HIP_7},
		{CLV_DRIVERS_REAL, CLV_DRIVER_CUDA},
		{CLV_DRIVERS_REAL, CLV_DRIVER_NVML},
		{CLV_DRIVERS_REAL, CLV_DRIVER_HSA},
		{CLV_DRIVERS_REAL, CLV_DRIVER_HIP_5},
		{CLV_DRIVERS_REAL, CLV_DRIVER_HIP_6},
		{CLV_DRIVERS_REAL, CLV_DRIVER_HIP_7},
		{CLV_DRIVERS_BELOW, CLV_DRIVER_HSA},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(entries); i++) {
		_cleanup_close_ int inner = openat(fd, entries[i][0],
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (inner < 0)
			continue;
		unlinkat(inner, entries[i][1], 0);
		unlinkat(fd, entries[i][0], AT_REMOVEDIR);
	}
	unlinkat(fd, CLV_GATE_OPENCL, 0);
	unlinkat(fd, CLV_GATE_CUDA, 0);
	unlinkat(fd, CLV_GATE_HIP, 0);
	unlinkat(fd, CLV_LEASE_OPEN, 0);
}

void clv_lease_remove_folder(const struct clv_lease *lease)
{
	char path[CLV_FOLDER_MAX + 64];
	_cleanup_close_ int fd = -1;

	if (take_back(lease) < 0)
		return;
	fd = open_folder(lease);
	if (fd >= 0) {
		unlinkat(fd, CLV_ATTACH_SOCKET_NAME, 0);
		unlinkat(fd, DOOR "/" CLV_ATTACH_SOCKET_NAME, 0);
		unlinkat(fd, DOOR "/" CLV_ATTACH_DEVICES_NAME, 0);
		unlinkat(fd, DOOR, AT_REMOVEDIR);
		remove_namespace(fd);
	}
	clv_lease_folder(lease, path, sizeof(path));
	/* Files of the tenant keep the folder.  It does no harm, as lease ids are never
	 * reused. */
	rmdir(path);
}
