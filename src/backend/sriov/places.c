/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files with the quotas of a virtual function of Intel's drivers.  xe has them
 * in sriov_admin of sysfs (since Linux 6.19, memory since 7.0), and before in debugfs,
 * with two different layouts of folders.  i915 has iov or prelim_iov below the card, with
 * a folder for each GT (a part of the GPU with its own engines). */
#include "backend/sriov/sriov.h"

#include "backend/files.h"
#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 192
#define DEBUGFS "kernel/debug/dri"

struct search {
	const char *pf_address;
	uint32_t number;
	const char *const *names;
	struct clv_sriov_files *found;
};

/* Appends the file with one of the names, if the folder has one. */
static int __attribute__((format(printf, 2, 3)))
add_file(struct search *search, const char *format, ...)
{
	char folder[PATH_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(folder, sizeof(folder), format, args);
	va_end(args);
	for (int i = 0; i < 2 && search->names[i]; i++) {
		char(*path)[PATH_BYTES];

		if (!clv_file_exists("%s/%s", folder, search->names[i]))
			continue;
		path = CLV_APPEND(search->found->items, search->found->n);
		if (!path)
			return -ENOMEM;
		snprintf(*path, sizeof(*path), "%.160s/%s", folder, search->names[i]);
		return 0;
	}
	return 0;
}

/* Calls add_file() for "folder/NAME" + tail, for each NAME that begins with prefix. */
static int add_file_of_each(
	struct search *search, const char *folder, const char *prefix, const char *tail)
{
	_cleanup_names_ struct clv_names names = {0};
	int r = 0;

	if (clv_file_list(&names, "%s", folder) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		if (strncmp(names.items[i], prefix, strlen(prefix)) == 0)
			r = add_file(search, "%s/%s%s", folder, names.items[i], tail);
	}
	return r;
}

static int search_sriov_admin(struct search *search)
{
	return add_file(search, "bus/pci/devices/%s/sriov_admin/vf%u/profile",
		search->pf_address, search->number);
}

/* Newer kernels name the folder by PCI address, older ones by number; those have the
 * address in the file `name`. */
static bool find_debugfs(const char *pf_address, char ret[96])
{
	_cleanup_names_ struct clv_names names = {0};
	char text[256];

	snprintf(ret, 96, DEBUGFS "/%s", pf_address);
	if (clv_file_exists("%s", ret))
		return true;
	if (clv_file_list(&names, DEBUGFS) < 0)
		return false;
	for (size_t i = 0; i < names.n; i++) {
		if (clv_file_read(text, sizeof(text), DEBUGFS "/%s/name",
			    names.items[i]) <= 0 ||
			!strstr(text, pf_address))
			continue;
		snprintf(ret, 96, DEBUGFS "/%s", names.items[i]);
		return true;
	}
	return false;
}

/* sriov/vfN/tileN/gtN: tiles have the memory quota, GTs the other quotas. */
static int search_debugfs(struct search *search)
{
	_cleanup_names_ struct clv_names tiles = {0};
	char root[96], folder[160];
	int r = 0;

	if (!find_debugfs(search->pf_address, root) ||
		clv_file_list(&tiles, "%s/sriov/vf%u", root, search->number) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < tiles.n; i++) {
		snprintf(folder, sizeof(folder), "%.80s/sriov/vf%u/%.32s", root,
			search->number, tiles.items[i]);
		r = add_file(search, "%s", folder);
		if (r == 0)
			r = add_file_of_each(search, folder, "gt", "");
	}
	return r;
}

static int search_old_debugfs(struct search *search)
{
	char root[96], tail[16];

	if (!find_debugfs(search->pf_address, root))
		return 0;
	snprintf(tail, sizeof(tail), "/vf%u", search->number);
	return add_file_of_each(search, root, "gt", tail);
}

static bool find_iov(const char *pf_address, char ret[128])
{
	static const char *const folders[] = {"prelim_iov", "iov"};
	_cleanup_names_ struct clv_names cards = {0};

	if (clv_file_list(&cards, "bus/pci/devices/%s/drm", pf_address) < 0)
		return false;
	for (size_t i = 0; i < cards.n; i++) {
		for (size_t k = 0; k < CLV_ARRAY_SIZE(folders); k++) {
			snprintf(ret, 128, "bus/pci/devices/%s/drm/%.32s/%s", pf_address,
				cards.items[i], folders[k]);
			if (clv_file_exists("%s", ret))
				return true;
		}
	}
	return false;
}

static int search_iov(struct search *search)
{
	char root[128], folder[160];

	if (!find_iov(search->pf_address, root))
		return 0;
	snprintf(folder, sizeof(folder), "%.120s/vf%u", root, search->number);
	return add_file_of_each(search, folder, "gt", "");
}

/* The first search that finds a file wins.  is_early: quotas may be written before the
 * functions exist.  In debugfs and iov such a write would turn off the driver's automatic
 * provisioning, and new functions would then lack resources that only the driver can
 * assign. */
static const struct {
	int (*search)(struct search *search);
	enum clv_vf_framework framework;
	bool is_early;
} searches[] = {
	{search_sriov_admin, CLV_VF_XE, true},
	{search_debugfs, CLV_VF_XE, false},
	{search_old_debugfs, CLV_VF_XE, false},
	{search_iov, CLV_VF_I915, false},
};

int clv_sriov_find_files(const struct clv_node_device *device, uint32_t number,
	const char *const names[2], struct clv_sriov_files *ret)
{
	struct search search = {device->pci_address, number, names, ret};
	int r = 0;

	*ret = (struct clv_sriov_files){0};
	for (size_t i = 0; r == 0 && ret->n == 0 && i < CLV_ARRAY_SIZE(searches); i++) {
		if (searches[i].framework != device->vf.framework)
			continue;
		r = searches[i].search(&search);
		ret->is_early = searches[i].is_early;
	}
	if (r < 0)
		free(ret->items);
	return r;
}

void clv_sriov_find_auto_switch(const struct clv_node_device *device, char ret[192])
{
	char root[128];

	ret[0] = '\0';
	if (device->vf.framework == CLV_VF_I915 && find_iov(device->pci_address, root))
		snprintf(ret, PATH_BYTES, "%s/pf/auto_provisioning", root);
	else if (device->vf.framework == CLV_VF_XE &&
		 find_debugfs(device->pci_address, root))
		snprintf(ret, PATH_BYTES, "%s/sriov/restore_auto_provisioning", root);
	if (ret[0] != '\0' && !clv_file_exists("%s", ret))
		ret[0] = '\0';
}
