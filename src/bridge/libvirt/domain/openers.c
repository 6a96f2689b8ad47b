/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/libvirt/domain/openers.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The number of the GPU's device file; -1: the driver does not have it. */
static int read_minor(const char *proc, const char *address)
{
	char path[PATH_MAX], line[256];
	int minor = -1;
	FILE *file;

	snprintf(path, sizeof(path), "%.200s/driver/nvidia/gpus/%.40s/information", proc,
		address);
	file = fopen(path, "re");
	while (file && minor < 0 && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Device Minor: %d", &minor) != 1)
			minor = -1;
	}
	if (file)
		fclose(file);
	return minor;
}

/* One that ends meanwhile has nothing open. */
static bool has_open(const char *proc, const char *pid, const char *device)
{
	char folder[512], path[PATH_MAX], target[64];
	struct dirent *entry;
	bool is_found = false;
	DIR *files;

	snprintf(folder, sizeof(folder), "%.200s/%.20s/fd", proc, pid);
	files = opendir(folder);
	while (files && !is_found && (entry = readdir(files))) {
		ssize_t n;

		snprintf(path, sizeof(path), "%s/%.20s", folder, entry->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = '\0';
		is_found = strcmp(target, device) == 0;
	}
	if (files)
		closedir(files);
	return is_found;
}

static void read_command(const char *proc, const char *pid, char ret[32])
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%.200s/%.20s/comm", proc, pid);
	file = fopen(path, "re");
	if (!file || !fgets(ret, 32, file))
		ret[0] = '\0';
	if (file)
		fclose(file);
	ret[strcspn(ret, "\n")] = '\0';
}

static int fail_open(const char *proc, const char *pid, const char *device,
	const char *address, struct clv_error *err)
{
	char command[32];

	read_command(proc, pid, command);
	return clv_error_set(err, -EBUSY,
		"process %.20s (%s) has %s open, and NVIDIA's driver would wait for it "
		"without end: end it, or give %.40s to vfio-pci from the next boot on, "
		"as with driverctl set-override %.40s vfio-pci",
		pid, command, device, address, address);
}

bool clv_vm_is_nvidias(const char *proc, const char *address)
{
	return read_minor(proc, address) >= 0;
}

static bool is_agent(const char *proc, const char *pid)
{
	char command[32];

	read_command(proc, pid, command);
	return strcmp(command, "cleaved") == 0;
}

int clv_vm_check_openers(
	const char *proc, const char *address, bool but_agent, struct clv_error *err)
{
	int minor = read_minor(proc, address), r = 0;
	struct dirent *entry;
	char device[32];
	DIR *processes;

	if (minor < 0)
		return 0;
	snprintf(device, sizeof(device), "/dev/nvidia%d", minor);
	processes = opendir(proc);
	if (!processes)
		return clv_error_errno(err, errno, "cannot read %.100s", proc);
	while (r >= 0 && (entry = readdir(processes))) {
		if (isdigit((unsigned char)entry->d_name[0]) &&
			has_open(proc, entry->d_name, device) &&
			!(but_agent && is_agent(proc, entry->d_name)))
			r = fail_open(proc, entry->d_name, device, address, err);
	}
	closedir(processes);
	return r;
}
