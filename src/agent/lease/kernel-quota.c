/* SPDX-License-Identifier: Apache-2.0 */
/* Sets a lease's memory limit in the kernel.  The files of dmem, by
 * Documentation/admin-guide/cgroup-v2.rst: lines of REGION BYTES, "max" for no limit; a
 * limit is set by writing one such line. */
#include "agent/lease/kernel-quota.h"

#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/lease/lease.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CGROUPS "/sys/fs/cgroup"
#define FILE_BYTES_MAX 65536u
#define PROCESSES_MAX 4096u

struct clv_kernel_quota {
	char folder[CLV_CGROUP_FOLDER_MAX]; /* of the lease's cgroup */
	/* Of dmem, as "drm/0000:03:00.0/vram"; "": the driver sets the limit. */
	char region[64];
	bool is_held;
};

void clv_kernel_quota_forget(struct clv_lease *lease)
{
	if (lease->agent->hardware)
		clv_hardware_cancel(lease->agent->hardware, lease);
	free(lease->kernel_quota);
	lease->kernel_quota = NULL;
}

/* The environment variable is for tests. */
static const char *root(void)
{
	const char *folder = getenv("CLEAVE_CGROUPFS");

	return folder ? folder : CGROUPS;
}

static char *read_text(const char *folder, const char *name)
{
	char path[CLV_CGROUP_MAX + 300], *text = NULL;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return clv_file_read_all(path, FILE_BYTES_MAX, &text, NULL, NULL) < 0 ? NULL
									      : text;
}

/* Finds the device's memory among the regions that drivers have registered. */
static bool find_region(const char *pci_address, char ret[64])
{
	_cleanup_free_ char *capacity =
		pci_address[0] ? read_text(root(), "dmem.capacity") : NULL;
	char prefix[40], *rest = NULL;

	snprintf(prefix, sizeof(prefix), "drm/%s/vram", pci_address);
	for (char *line = capacity ? strtok_r(capacity, "\n", &rest) : NULL; line;
		line = strtok_r(NULL, "\n", &rest)) {
		size_t n = strcspn(line, " ");

		if (strncmp(line, prefix, strlen(prefix)) != 0 || n >= 64)
			continue;
		snprintf(ret, 64, "%.*s", (int)n, line);
		return true;
	}
	return false;
}

static bool is_holder(void *userdata, const struct clv_process_id *id)
{
	const struct clv_process_id *holder = userdata;

	return id->pid == holder->pid && id->start_ticks == holder->start_ticks;
}

/* Whether all processes of the cgroup descend from the holder: the limit applies to all
 * of them. */
static bool has_only_descendants(const char *folder, struct clv_process_id holder)
{
	_cleanup_free_ char *processes = read_text(folder, "cgroup.procs");
	char *rest = NULL;
	size_t n = 0;

	for (char *line = processes ? strtok_r(processes, "\n", &rest) : NULL; line;
		line = strtok_r(NULL, "\n", &rest)) {
		pid_t pid = (pid_t)atoi(line);

		if (pid <= 0 || ++n > PROCESSES_MAX ||
			!clv_process_has_ancestor(pid, is_holder, &holder))
			return false;
	}
	return n > 0;
}

static bool has_folders(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	bool has_some = !dir;

	while (!has_some && (entry = readdir(dir)))
		has_some = entry->d_type == DT_DIR && entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return has_some;
}

static bool find_folder(const struct clv_lease *lease, char ret[CLV_CGROUP_FOLDER_MAX])
{
	char cgroup[CLV_CGROUP_MAX];

	if (clv_process_cgroup(&lease->record.holder, cgroup) < 0)
		return false;
	snprintf(ret, CLV_CGROUP_FOLDER_MAX, "%s%s", root(), cgroup);
	return !has_folders(ret) && has_only_descendants(ret, lease->record.holder);
}

/* Through dmem.max. */

static bool write_limit(const struct clv_kernel_quota *quota, const char *bytes)
{
	char path[CLV_CGROUP_FOLDER_MAX + 16], line[128];
	_cleanup_close_ int fd = -1;
	int n = snprintf(line, sizeof(line), "%s %s\n", quota->region, bytes);

	snprintf(path, sizeof(path), "%s/dmem.max", quota->folder);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	return fd >= 0 && write(fd, line, (size_t)n) == n;
}

/* Reads the limit back: a write may succeed without effect. */
static bool has_limit(const struct clv_kernel_quota *quota, const char *bytes)
{
	_cleanup_free_ char *text = read_text(quota->folder, "dmem.max");
	char *rest = NULL;
	size_t n = strlen(quota->region);

	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
		line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, quota->region, n) == 0 && line[n] == ' ')
			return strcmp(line + n + 1, bytes) == 0;
	}
	return false;
}

static void give_up(struct clv_lease *lease, const char *why)
{
	clv_log_warning(0, "lease %s: only its gates enforce its memory quota: %s",
		lease->record.name, why);
	clv_kernel_quota_clear(lease);
}

static void set_by_file(struct clv_lease *lease)
{
	struct clv_kernel_quota *quota = lease->kernel_quota;
	char bytes[32];

	snprintf(bytes, sizeof(bytes), "%" PRIu64, lease->record.share.memory_bytes);
	quota->is_held = write_limit(quota, bytes) && has_limit(quota, bytes);
	if (!quota->is_held)
		give_up(lease, "its cgroup's dmem.max does not accept the limit");
}

/* Through the driver, whose result comes later. */

static void on_limited(void *userdata, const struct clv_error *err)
{
	struct clv_lease *lease = userdata;

	if (!lease->kernel_quota)
		return;
	lease->kernel_quota->is_held = err->code == 0;
	if (err->code == -ENOTSUP)
		clv_kernel_quota_forget(lease);
	else if (err->code < 0)
		give_up(lease, err->msg);
}

static void ask_driver(struct clv_lease *lease, uint64_t bytes, clv_hardware_fn done)
{
	clv_hardware_limit(lease->agent->hardware,
		clv_devices_root(lease->device)->info.uuid, lease->kernel_quota->folder,
		bytes, done, done ? lease : NULL);
}

static bool find_means(struct clv_lease *lease, struct clv_kernel_quota *ret)
{
	const struct clv_device *info = &clv_devices_root(lease->device)->info;
	/* The driver limits whole GPUs only. */
	bool is_drivers = strcmp(info->backend, "nvidia") == 0 &&
			  !lease->device->parent && lease->agent->hardware;

	*ret = (struct clv_kernel_quota){0};
	return lease->n_others == 0 &&
	       (is_drivers || find_region(info->pci_address, ret->region)) &&
	       find_folder(lease, ret->folder);
}

static struct clv_kernel_quota *new_quota(struct clv_lease *lease)
{
	struct clv_kernel_quota *quota = malloc(sizeof(*quota));

	if (quota && !find_means(lease, quota)) {
		free(quota);
		quota = NULL;
	}
	return quota;
}

void clv_kernel_quota_set(struct clv_lease *lease)
{
	if (!lease->kernel_quota)
		lease->kernel_quota = new_quota(lease);
	if (!lease->kernel_quota)
		return;
	if (lease->kernel_quota->region[0] != '\0')
		set_by_file(lease);
	else
		ask_driver(lease, lease->record.share.memory_bytes, on_limited);
}

void clv_kernel_quota_clear(struct clv_lease *lease)
{
	const struct clv_kernel_quota *quota = lease->kernel_quota;

	if (quota && quota->region[0] != '\0')
		write_limit(quota, "max");
	else if (quota)
		ask_driver(lease, UINT64_MAX, NULL);
	clv_kernel_quota_forget(lease);
}

bool clv_kernel_quota_is_enforced(const struct clv_lease *lease)
{
	return lease->kernel_quota && lease->kernel_quota->is_held;
}
