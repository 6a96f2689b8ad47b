/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what virtual machines need to be given devices: the IOMMU and its groups. */
#include "cli/admin/checks-vm.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/frame/cli.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define GROUPS "/sys/kernel/iommu_groups"

static size_t count_groups(void)
{
	struct dirent *entry;
	DIR *folder = opendir(GROUPS);
	size_t n = 0;

	while (folder && (entry = readdir(folder)))
		n += entry->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return n;
}

/* Lists devices that can have virtual functions, and functions whose group has others. */
static void list_devices(
	const json_t *node, char *ret_devices, char *ret_shared, size_t n)
{
	const json_t *device, *function;
	char text[64];
	size_t i, k;

	ret_devices[0] = ret_shared[0] = '\0';
	json_array_foreach (json_object_get(node, "devices"), i, device) {
		const json_t *vf = json_object_get(device, "vf");

		if (!json_is_object(vf) || clv_json_number(vf, "total") < 1)
			continue;
		clv_text_list(ret_devices, n, clv_json_text(device, "name"));
		json_array_foreach (json_object_get(vf, "functions"), k, function) {
			if (clv_json_number(function, "group_others") < 1)
				continue;
			snprintf(text, sizeof(text), "%.16s (group %.0f)",
				clv_json_text(function, "address"),
				clv_json_number(function, "iommu_group"));
			clv_text_list(ret_shared, n, text);
		}
	}
}

void clv_check_iommu(const json_t *node, struct clv_finding *ret)
{
	size_t n = count_groups();
	char devices[160], shared[160];

	list_devices(node, devices, shared, sizeof(devices));
	if (!devices[0])
		clv_finding_set(ret, CLV_VERDICT_INFO, "",
			"no device here can have virtual functions");
	else if (n == 0)
		clv_finding_set(ret, CLV_VERDICT_WARN,
			"turn the IOMMU (VT-d, AMD-Vi) on in the firmware's set-up, and "
			"start Linux with intel_iommu=on or amd_iommu=on",
			"the IOMMU is off: no function of %s can be given to a virtual "
			"machine",
			devices);
	else if (shared[0])
		clv_finding_set(ret, CLV_VERDICT_WARN,
			"put the GPU into a slot whose bridge has ACS, or turn ACS on in "
			"the "
			"firmware's set-up: a virtual machine must get a whole group",
			"functions share their IOMMU group with other devices: %s",
			shared);
	else
		clv_finding_set(ret, CLV_VERDICT_OK, "",
			"the IOMMU is on, and each function of %s is alone in its group",
			devices);
}
