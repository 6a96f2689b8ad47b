/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerates the devices of all OpenCL platforms.  A device without a UUID of its driver
 * gets one from a hash of its locator (platform, name, ordinal), which also identifies it
 * to the gate; so the UUID is stable across starts. */
#include "backend/opencl/library.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/uuid.h"

#include <CL/cl_ext.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MAX_PLATFORMS 32u
#define MAX_DEVICES 64u /* per platform */

static void get_text(const struct clv_opencl_library *cl, cl_device_id device,
	cl_device_info what, char ret[CLV_DEVICE_TEXT_MAX])
{
	char text[4096] = "";
	size_t length = 0;

	ret[0] = '\0';
	if (cl->get_device_info(device, what, sizeof(text) - 1, text, &length) !=
		CL_SUCCESS)
		return;
	text[sizeof(text) - 1] = '\0';
	snprintf(ret, CLV_DEVICE_TEXT_MAX, "%.*s", CLV_DEVICE_TEXT_MAX - 1, text);
}

static uint64_t get_number(const struct clv_opencl_library *cl, cl_device_id device,
	cl_device_info what, size_t n_bytes)
{
	union {
		cl_uint narrow;
		cl_ulong wide;
	} value = {.wide = 0};

	if (cl->get_device_info(device, what, n_bytes, &value, NULL) != CL_SUCCESS)
		return 0;
	return n_bytes == sizeof(cl_uint) ? value.narrow : value.wide;
}

static bool has_extension(
	const struct clv_opencl_library *cl, cl_device_id device, const char *wanted)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;

	if (cl->get_device_info(device, CL_DEVICE_EXTENSIONS, 0, NULL, &length) !=
			CL_SUCCESS ||
		length == 0 || length > 1u << 20)
		return false;
	text = calloc(1, length + 1);
	if (!text || cl->get_device_info(device, CL_DEVICE_EXTENSIONS, length, text,
			     NULL) != CL_SUCCESS)
		return false;
	return strstr(text, wanted) != NULL;
}

static void get_uuid(const struct clv_opencl_library *cl, cl_device_id device,
	const struct clv_device_locator *locator, char ret[CLV_UUID_LENGTH + 1])
{
	unsigned char id[CL_UUID_SIZE_KHR] = {0};

	if (has_extension(cl, device, "cl_khr_device_uuid") &&
		cl->get_device_info(device, CL_DEVICE_UUID_KHR, sizeof(id), id, NULL) ==
			CL_SUCCESS)
		clv_uuid_format(id, ret);
	else
		clv_uuid_make(locator->platform, locator->model, locator->ordinal, ret);
}

static const char *type_name(cl_device_type type)
{
	if (type & CL_DEVICE_TYPE_GPU)
		return "gpu";
	if (type & CL_DEVICE_TYPE_ACCELERATOR)
		return "accelerator";
	return "cpu";
}

static void describe(const struct clv_opencl_library *cl, cl_device_id device,
	const char *platform, uint32_t ordinal, struct clv_device *ret)
{
	*ret = (struct clv_device){.backend = "opencl", .executor = "gate"};
	get_text(cl, device, CL_DEVICE_NAME, ret->model);
	get_text(cl, device, CL_DEVICE_VENDOR, ret->vendor);
	get_text(cl, device, CL_DRIVER_VERSION, ret->driver);
	snprintf(ret->type, sizeof(ret->type), "%s",
		type_name(
			get_number(cl, device, CL_DEVICE_TYPE, sizeof(cl_device_type))));
	ret->memory_bytes =
		get_number(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
	ret->max_allocation_bytes =
		get_number(cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong));
	ret->compute_units = (uint32_t)get_number(
		cl, device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint));
	snprintf(ret->locator.platform, sizeof(ret->locator.platform), "%.*s",
		CLV_DEVICE_TEXT_MAX - 1, platform);
	memcpy(ret->locator.model, ret->model, sizeof(ret->locator.model));
	ret->locator.ordinal = ordinal;
	get_uuid(cl, device, &ret->locator, ret->uuid);
}

static int append(struct clv_device_list *list, const struct clv_device *device)
{
	struct clv_device *items =
		realloc(list->items, (list->n_items + 1) * sizeof(*items));

	if (!items)
		return -ENOMEM;
	list->items = items;
	list->items[list->n_items++] = *device;
	return 0;
}

static int enumerate_platform(const struct clv_opencl_library *cl,
	cl_platform_id platform, struct clv_device_list *ret, struct clv_error *err)
{
	char name[1024] = "";
	cl_device_id ids[MAX_DEVICES];
	cl_uint n_ids = 0;

	if (cl->get_platform_info(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name,
		    NULL) != CL_SUCCESS)
		return 0;
	if (cl->get_devices(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &n_ids) !=
		CL_SUCCESS)
		return 0;

	for (cl_uint i = 0; i < n_ids && i < MAX_DEVICES; i++) {
		struct clv_device device;

		describe(cl, ids[i], name, i, &device);
		/* A device without memory cannot be divided; drivers show one after an
		 * incomplete initialisation. */
		if (device.memory_bytes == 0)
			continue;
		if (append(ret, &device) < 0)
			return clv_error_errno(err, ENOMEM, "cannot list the devices");
	}
	return 0;
}

int clv_opencl_enumerate(
	struct clv_backend *base, struct clv_device_list *ret, struct clv_error *err)
{
	const struct clv_opencl_library *cl =
		&((struct clv_opencl_backend *)base)->library;
	cl_platform_id platforms[MAX_PLATFORMS];
	cl_uint n_platforms = 0;
	int r;

	if (cl->get_platforms(MAX_PLATFORMS, platforms, &n_platforms) != CL_SUCCESS ||
		n_platforms == 0)
		return clv_error_set(err, -ENODEV,
			"no OpenCL driver is installed: install your GPU's, or the "
			"package pocl-opencl-icd to use the CPU as a device");
	for (cl_uint i = 0; i < n_platforms && i < MAX_PLATFORMS; i++) {
		r = enumerate_platform(cl, platforms[i], ret, err);
		if (r < 0)
			return r;
	}
	if (ret->n_items == 0)
		return clv_error_set(err, -ENODEV,
			"the OpenCL drivers show no device: check that you may open "
			"/dev/dri or /dev/nvidia*, or install the package "
			"pocl-opencl-icd to use the CPU as a device, which needs a HOME "
			"or POCL_CACHE_DIR that can be written");
	return 0;
}
