/* SPDX-License-Identifier: Apache-2.0 */
/* Converts devices to JSON and back, by one table of members. */
#include "agent/driver/device-json.h"

#include "agent/driver/node-json.h"
#include "agent/os/json-fields.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define N_ALWAYS 8 /* the first texts, which every device has */

#define TEXT(key, member)                                           \
	{                                                           \
		key, offsetof(struct clv_device, member),           \
			sizeof(((struct clv_device *)NULL)->member) \
	}

static const struct {
	const char *key;
	size_t offset, room;
} texts[] = {
	TEXT("name", name),
	TEXT("uuid", uuid),
	TEXT("model", model),
	TEXT("vendor", vendor),
	TEXT("driver", driver),
	TEXT("type", type),
	TEXT("platform", locator.platform),
	TEXT("locator_model", locator.model),
	/* May be missing, then "": earlier versions of cleave did not write them. */
	TEXT("parent", parent),
	TEXT("scheme", scheme),
	TEXT("profile", profile),
	TEXT("address", address),
	TEXT("visible", visible),
	TEXT("pci_address", pci_address),
	TEXT("cuda_version", generation.cuda),
	TEXT("architecture", generation.architecture),
	TEXT("compute_capability", generation.capability),
};

json_t *clv_device_to_json(const struct clv_device *device)
{
	json_t *object = json_object();

	for (size_t i = 0; i < CLV_ARRAY_SIZE(texts); i++)
		clv_json_set_text(
			object, texts[i].key, (const char *)device + texts[i].offset);
	json_object_set_new(
		object, "memory_bytes", json_integer((json_int_t)device->memory_bytes));
	json_object_set_new(object, "max_allocation_bytes",
		json_integer((json_int_t)device->max_allocation_bytes));
	json_object_set_new(object, "compute_units", json_integer(device->compute_units));
	json_object_set_new(object, "ordinal", json_integer(device->locator.ordinal));
	clv_json_set_text(object, "backend", device->backend);
	return object;
}

static uint64_t get_number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

int clv_device_from_json(
	const json_t *json, struct clv_device *ret, struct clv_error *err)
{
	const char *backend = json_string_value(json_object_get(json, "backend"));
	const char *name = clv_node_backend_name(backend ? backend : "opencl");
	struct clv_device device = {
		.backend = name,
		.executor = clv_node_backend_executor(name),
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(texts); i++) {
		const char *text = json_string_value(json_object_get(json, texts[i].key));

		if (!text && i < N_ALWAYS)
			return clv_error_set(
				err, -EINVAL, "a device has no %s", texts[i].key);
		snprintf((char *)&device + texts[i].offset, texts[i].room, "%s",
			text ? text : "");
	}
	device.memory_bytes = get_number(json, "memory_bytes");
	device.max_allocation_bytes = get_number(json, "max_allocation_bytes");
	device.compute_units = (uint32_t)get_number(json, "compute_units");
	device.locator.ordinal = (uint32_t)get_number(json, "ordinal");
	/* sysfs does not tell the memory of a GPU that its own driver does not have. */
	if ((device.memory_bytes == 0 && device.parent[0] == '\0' &&
		    strcmp(name, "sriov") != 0) ||
		device.uuid[0] == '\0')
		return clv_error_set(err, -EINVAL, "a device has no memory or no UUID");
	*ret = device;
	return 0;
}
