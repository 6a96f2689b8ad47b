/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a container the nodes of a device without a lease. */
#include "bridge/kubernetes/lease/admin-access.h"

#include "base/error.h"
#include "bridge/kubernetes/lease/refusal.h"
#include "bridge/kubernetes/lease/spec.h"

#include <cleave.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

/* The device as a lease's list of devices has it; NULL: there is none. */
static json_t *find_device(const json_t *devices, const char *name)
{
	const json_t *items = json_object_get(devices, "items");
	json_t *device;
	size_t i;

	json_array_foreach (items, i, device) {
		const char *its = json_string_value(json_object_get(device, "name"));

		if (!its || strcmp(its, name) != 0)
			continue;
		return json_pack("{s:s,s:O*,s:O*,s:O*,s:O*}", "name", name, "backend",
			json_object_get(device, "backend"), "uuid",
			json_object_get(device, "uuid"), "root_uuid",
			json_object_get(device, "uuid"), "pci_address",
			json_object_get(device, "pci_address"));
	}
	return NULL;
}

int clv_kube_admin_access(const struct clv_kube_settings *settings,
	struct clv_client *client, const char *device, const char *name,
	char ret_cdi[CLV_KUBE_NAME_MAX + 32], struct clv_error *err)
{
	struct clv_client_error failure;
	json_t *devices = NULL, *found;
	int r = clv_client_devices(client, &devices, &failure);

	ret_cdi[0] = '\0';
	if (r < 0)
		return clv_kube_refuse(r, failure.msg, err);
	found = find_device(devices, device);
	json_decref(devices);
	if (!found)
		return clv_error_set(
			err, -ENODEV, "this node has no device %.80s now", device);
	r = clv_kube_spec_write_device(settings, name, found, err);
	json_decref(found);
	if (r > 0)
		clv_kube_spec_name(name, ret_cdi);
	return r < 0 ? r : 0;
}
