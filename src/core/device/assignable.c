/* SPDX-License-Identifier: Apache-2.0 */
/* Whether virtual machines can have a device, from what its driver reports and who holds
 * it. */
#include "core/device/assignable.h"

#include "core/device/node.h"

#include <stddef.h>

/* Why the device cannot be given to a machine as a whole; NULL: it can. */
static const char *why_not_whole(const struct clv_node_device *device)
{
	if (device->pci_address[0] == '\0')
		return "it is no PCI device";
	if (device->scheme != CLV_SCHEME_NONE)
		return "it is divided for programs of this host: make it whole with a "
		       "layout";
	/* Tenants read this: it names no holder. */
	return device->holders.n > 0
		       ? "it is in use: end the leases and the programs on it"
		       : NULL;
}

enum clv_assignable clv_assignable_of(
	const struct clv_node_device *device, const char **ret_why)
{
	*ret_why = NULL;
	if (device->scheme == CLV_SCHEME_VF)
		return CLV_ASSIGNABLE_PARTITIONED;
	*ret_why = why_not_whole(device);
	if (*ret_why)
		return CLV_ASSIGNABLE_NONE;
	if (device->vf.is_capable)
		return CLV_ASSIGNABLE_PARTITIONED;
	if (device->vf.total == 0)
		return CLV_ASSIGNABLE_WHOLE;
	/* As a whole it can be given all the same. */
	*ret_why = device->vf.why_not;
	return CLV_ASSIGNABLE_SRIOV_OFF;
}

const char *clv_assignable_to_string(enum clv_assignable assignable)
{
	static const char *const names[_CLV_ASSIGNABLE_MAX] = {
		[CLV_ASSIGNABLE_WHOLE] = "whole",
		[CLV_ASSIGNABLE_PARTITIONED] = "partitioned",
		[CLV_ASSIGNABLE_SRIOV_OFF] = "sriov_off",
		[CLV_ASSIGNABLE_NONE] = "none",
	};

	return names[assignable];
}
