/* SPDX-License-Identifier: Apache-2.0 */
/* The device of a service, in three notations: x-cleave, a device of deploy.resources
 * with the driver cleave, and Omnistrate's multiTenantGpu. */
#include "service/internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "import/cloud.h"
#include "import/slicing.h"

#include <errno.h>
#include <string.h>

static int is_of_units(struct clv_yaml_value value, int r, struct clv_error *err)
{
	if (r < 0)
		clv_yaml_prefix_position(value, err);
	return r;
}

static int read_share(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service_device *device = into;
	const char *text = clv_yaml_text(value);

	if (strstr(text, ".."))
		return is_of_units(value,
			clv_units_parse_range(
				text, &device->share_ppm, &device->share_most_ppm, err),
			err);
	return is_of_units(
		value, clv_units_parse_fraction(text, &device->share_ppm, err), err);
}

static int read_memory(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service_device *device = into;

	return is_of_units(value,
		clv_units_parse_bytes(clv_yaml_text(value), &device->memory_bytes, err),
		err);
}

static int read_class(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[] = {"latency", "normal", "batch"};
	struct clv_service_device *device = into;
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (r >= 0)
		strcpy(device->class_name, names[r]);
	return r < 0 ? r : 0;
}

static int read_isolation(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const names[] = {"gate", "kernel", "hardware"};
	struct clv_service_device *device = into;
	int r = clv_yaml_read_choice(value, names, CLV_ARRAY_SIZE(names), err);

	if (r >= 0)
		strcpy(device->isolation, names[r]);
	return r < 0 ? r : 0;
}

static int read_profile(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service_device *device = into;

	return clv_yaml_read_text(value, device->profile, sizeof(device->profile), err);
}

static int read_name(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service_device *device = into;

	return clv_yaml_read_text(value, device->device, sizeof(device->device), err);
}

static const struct clv_yaml_field fields[] = {
	{"share", read_share},
	{"memory", read_memory},
	{"class", read_class},
	{"profile", read_profile},
	{"isolation", read_isolation},
	{"device", read_name},
};

/* Reads what a service requests, of which one notation gives everything. */
static int read_device(
	struct clv_service *service, struct clv_yaml_value value, struct clv_error *err)
{
	struct clv_service_device *device = &service->device;
	int r;

	if (device->is_given)
		return clv_yaml_fail(value, err, -EINVAL,
			"the device of this service is given twice: keep one of "
			"x-cleave, "
			"deploy.resources.reservations.devices and " CLV_SLICING_KEY);
	r = clv_yaml_read_map(value, fields, CLV_ARRAY_SIZE(fields), device, err);
	if (r < 0)
		return r;
	device->is_given = true;
	if (!device->share_ppm && !device->memory_bytes && !device->profile[0])
		return clv_yaml_fail(value, err, -EINVAL,
			"how much of a device is missing: set share, memory or profile");
	return 0;
}

/* --- x-cleave --- */

int clv_service_read_cleave(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service *service = into;

	if (strcmp(clv_yaml_text(value), "none") == 0) {
		service->device.is_none = true;
		return 0;
	}
	return read_device(service, value, err);
}

/* --- deploy.resources.reservations.devices --- */

static int read_driver(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	if (strcmp(clv_yaml_text(value), "cleave") == 0)
		return 0;
	return clv_yaml_fail(value, err, -EINVAL,
		"the driver '%.40s' is not supported: write driver: cleave, with the "
		"options share, memory, class, profile or isolation",
		clv_yaml_text(value));
}

static int read_count(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	if (strcmp(clv_yaml_text(value), "1") == 0)
		return 0;
	return clv_yaml_fail(value, err, -EINVAL,
		"a replica has one device: leave count out, or set replicas");
}

static int read_options(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_device(into, value, err);
}

static int read_one(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const struct clv_yaml_field keys[] = {
		{"driver", read_driver, true},
		{"count", read_count},
		{"capabilities", clv_service_skip},
		{"options", read_options, true},
	};

	return clv_yaml_read_map(value, keys, CLV_ARRAY_SIZE(keys), into, err);
}

int clv_service_read_devices(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_one, into, err);
}

/* --- multiTenantGpu --- */

/* The instance type has no effect: the device is one of this node, or of the cluster. */
static int take_slicing(
	struct clv_service *service, struct clv_yaml_value value, struct clv_error *err)
{
	struct clv_service_device *device = &service->device;
	struct clv_slicing slicing = {0};
	int r = clv_slicing_read(value, &slicing, err);

	if (r < 0)
		return r;
	device->is_given = true;
	if (slicing.replicas)
		device->share_ppm = CLV_PPM / slicing.replicas;
	if (slicing.has_profile)
		strcpy(device->profile, slicing.profile.name);
	return 0;
}

int clv_service_read_integrations(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_service *service = into;
	struct clv_yaml_value slicing;

	if (!clv_yaml_find(value, "multiTenantGpu", &slicing))
		return 0;
	if (service->device.is_given)
		return clv_yaml_fail(slicing, err, -EINVAL,
			"the device of this service is given twice: keep one of "
			"x-cleave, "
			"deploy.resources.reservations.devices and " CLV_SLICING_KEY);
	return take_slicing(service, slicing, err);
}

int clv_service_share_device(struct clv_service *service,
	struct clv_yaml_value integrations, struct clv_error *err)
{
	struct clv_yaml_value slicing;

	if (service->device.is_given || service->device.is_none ||
		!clv_yaml_find(integrations, "multiTenantGpu", &slicing))
		return 0;
	return take_slicing(service, slicing, err);
}
