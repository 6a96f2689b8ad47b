/* SPDX-License-Identifier: Apache-2.0 */
/* Files of dmem, by Documentation/admin-guide/cgroup-v2.rst: lines of REGION BYTES, "max"
 * for none; a limit is written as one such line. */
#include "agent/kernel-quota.h"

#include "agent/devices.h"
#include "agent/lease.h"
#include "base/cleanup.h"
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
	char file[CLV_CGROUP_MAX + 300]; /* dmem.max of its cgroup */
	char region[64];                 /* "drm/0000:03:00.0/vram" */
};

/* A test has another folder. */
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

/* The device's memory among what drivers have registered. */
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

/* A limit is for all in a cgroup: there may be nobody else. */
static bool is_its_own(const char *folder, struct clv_process_id holder)
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

static bool find_file(const struct clv_lease *lease, char *ret, size_t ret_bytes)
{
	char cgroup[CLV_CGROUP_MAX], folder[CLV_CGROUP_MAX + 256];

	if (clv_process_cgroup(&lease->record.holder, cgroup) < 0)
		return false;
	snprintf(folder, sizeof(folder), "%s%s", root(), cgroup);
	if (has_folders(folder) || !is_its_own(folder, lease->record.holder))
		return false;
	snprintf(ret, ret_bytes, "%s/dmem.max", folder);
	return access(ret, W_OK) == 0;
}

static bool write_limit(const struct clv_kernel_quota *quota, const char *bytes)
{
	_cleanup_close_ int fd = open(quota->file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	char line[128];
	int n = snprintf(line, sizeof(line), "%s %s\n", quota->region, bytes);

	return fd >= 0 && write(fd, line, (size_t)n) == n;
}

/* What it says of the region afterwards is what counts. */
static bool has_limit(const struct clv_kernel_quota *quota, const char *bytes)
{
	_cleanup_free_ char *text = NULL;
	char *rest = NULL;
	size_t n = strlen(quota->region);

	if (clv_file_read_all(quota->file, FILE_BYTES_MAX, &text, NULL, NULL) < 0)
		return false;
	for (char *line = strtok_r(text, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, quota->region, n) == 0 && line[n] == ' ')
			return strcmp(line + n + 1, bytes) == 0;
	}
	return false;
}

static bool find(struct clv_lease *lease, struct clv_kernel_quota *ret)
{
	return lease->n_others == 0 &&
	       find_region(
		       clv_devices_root(lease->device)->info.pci_address, ret->region) &&
	       find_file(lease, ret->file, sizeof(ret->file));
}

static struct clv_kernel_quota *look_for(struct clv_lease *lease)
{
	struct clv_kernel_quota *quota = malloc(sizeof(*quota));

	if (quota && !find(lease, quota)) {
		free(quota);
		quota = NULL;
	}
	return quota;
}

void clv_kernel_quota_set(struct clv_lease *lease)
{
	char bytes[32];

	if (!lease->kernel_quota)
		lease->kernel_quota = look_for(lease);
	if (!lease->kernel_quota)
		return;
	snprintf(bytes, sizeof(bytes), "%" PRIu64, lease->record.share.memory_bytes);
	if (write_limit(lease->kernel_quota, bytes) &&
		has_limit(lease->kernel_quota, bytes))
		return;
	clv_log_warning(0,
		"lease %s: %s does not take the limit of %s bytes: the gate alone holds "
		"it",
		lease->record.name, lease->kernel_quota->file, bytes);
	clv_kernel_quota_clear(lease);
}

void clv_kernel_quota_clear(struct clv_lease *lease)
{
	if (lease->kernel_quota)
		write_limit(lease->kernel_quota, "max");
	free(lease->kernel_quota);
	lease->kernel_quota = NULL;
}

bool clv_kernel_quota_holds(const struct clv_lease *lease)
{
	return lease->kernel_quota;
}
