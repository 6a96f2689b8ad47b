/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA vGPU types, in both frameworks.  mdev: each function has a folder for each type,
 * and a vGPU is an mdev that is created in it.  VFIO (since Linux 6.8): each function
 * lists the types that can be created on it now, and a file holds the id of its vGPU's
 * type, or 0.  NVML is not needed. */
#include "backend/sriov/sriov.h"

#include "backend/files.h"
#include "backend/vgpu-types.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "core/device/vgpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VF "bus/pci/devices/%s/"
#define TYPES VF "mdev_supported_types"
#define CREATABLE VF "nvidia/creatable_vgpu_types"
#define CURRENT VF "nvidia/current_vgpu_type"

/* Room for a list of types, which is longer than a page on some GPUs. */
#define LIST_BYTES 16384

/* Appends a type unless its id is listed already. */
static int add_type(
	struct clv_vgpu_type **types, size_t *n, const struct clv_vgpu_type *type)
{
	struct clv_vgpu_type *added;

	for (size_t i = 0; i < *n; i++) {
		if (strcmp((*types)[i].id, type->id) == 0)
			return 0;
	}
	added = CLV_APPEND(*types, *n);
	if (!added)
		return -ENOMEM;
	*added = *type;
	return 0;
}

/* A value of a description: "num_heads=4, ..., framebuffer=4096M, max_instance=12". */
static uint64_t description_value(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static int read_mdev_type(
	const char *vf_address, const char *id, struct clv_vgpu_type *ret)
{
	char text[CLV_FILE_TEXT_MAX];

	*ret = (struct clv_vgpu_type){0};
	if (strlen(id) >= sizeof(ret->id) ||
		clv_file_read(text, sizeof(text), TYPES "/%s/name", vf_address, id) <= 0)
		return -ENOENT;
	snprintf(ret->id, sizeof(ret->id), "%s", id);
	snprintf(ret->name, sizeof(ret->name), "%.47s", text);
	if (clv_file_read(text, sizeof(text), TYPES "/%s/description", vf_address, id) <
		0)
		text[0] = '\0';
	ret->memory_bytes = description_value(text, "framebuffer=") << 20;
	ret->max_instances = (uint32_t)description_value(text, "max_instance=");
	return 0;
}

/* Parses "1155 : NVIDIA L40S-1B"; false for the header line, which has no number. */
static bool parse_type_line(const char *line, struct clv_vgpu_type *ret)
{
	const char *colon = strchr(line, ':');
	char *end;
	unsigned long id = strtoul(line, &end, 10);

	if (!colon || end == line || id == 0)
		return false;
	*ret = (struct clv_vgpu_type){0};
	colon += 1 + strspn(colon + 1, " \t");
	snprintf(ret->id, sizeof(ret->id), "%lu", id);
	snprintf(ret->name, sizeof(ret->name), "%.47s", colon);
	ret->memory_bytes = clv_vgpu_memory_of_name(ret->name);
	return true;
}

/* The types that can be created on the function now, with either framework. */
static int list_types(
	const char *vf_address, struct clv_vgpu_type **types, size_t *n_types)
{
	_cleanup_names_ struct clv_names ids = {0};
	_cleanup_free_ char *list = malloc(LIST_BYTES);
	struct clv_vgpu_type type;
	char *rest = NULL;
	int r = 0;

	if (!list)
		return -ENOMEM;
	if (clv_file_list(&ids, TYPES, vf_address) < 0)
		ids.n = 0;
	for (size_t i = 0; r == 0 && i < ids.n; i++) {
		if (read_mdev_type(vf_address, ids.items[i], &type) == 0)
			r = add_type(types, n_types, &type);
	}
	if (clv_file_read(list, LIST_BYTES, CREATABLE, vf_address) <= 0)
		return r;
	for (char *line = strtok_r(list, "\n", &rest); r == 0 && line;
		line = strtok_r(NULL, "\n", &rest)) {
		if (parse_type_line(line, &type))
			r = add_type(types, n_types, &type);
	}
	return r;
}

int clv_sriov_add_types(struct clv_sriov_backend *backend, const char *vf_address,
	struct clv_node_device *device)
{
	struct clv_vf_state *state = &device->vf;
	int r = 0;

	if (!clv_vgpu_has_types(state->framework))
		return 0;
	r = list_types(vf_address, &state->types, &state->n_types);
	for (size_t i = 0; r == 0 && i < state->n_types; i++)
		r = add_type(&backend->types, &backend->n_types, &state->types[i]);
	return r;
}

/* Merges the types of NVML.  They replace those of sysfs with the same id, which lack
 * max_instances with VFIO; with mdev sysfs puts "nvidia-" before the id. */
static int add_noted(const struct clv_node_device *device, struct clv_vgpu_type **types,
	size_t *n_types)
{
	const char *prefix = device->vf.framework == CLV_VF_MDEV ? "nvidia-" : "";
	const struct clv_vgpu_type *noted;
	size_t n = 0;
	int r = 0;

	noted = clv_vgpu_types_cached(device->pci_address, &n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct clv_vgpu_type type = noted[i], *known;

		snprintf(type.id, sizeof(type.id), "%s%.15s", prefix, noted[i].id);
		known = (struct clv_vgpu_type *)clv_vgpu_find(*types, *n_types, type.id);
		if (known)
			*known = type;
		else
			r = add_type(types, n_types, &type);
	}
	return r;
}

int clv_sriov_merge_nvml_types(
	struct clv_sriov_backend *backend, const struct clv_node_device *device)
{
	return add_noted(device, &backend->types, &backend->n_types);
}

int clv_sriov_add_recalled_types(struct clv_node_device *device)
{
	struct clv_vf_state *state = &device->vf;
	size_t n = 0;

	if (!clv_vgpu_has_types(state->framework))
		return 0;
	if (clv_vgpu_types_cached(device->pci_address, &n) && n > 0)
		state->has_all_types = true;
	return add_noted(device, &state->types, &state->n_types);
}

static bool has_other_size(const struct clv_vf_state *state, uint64_t size)
{
	for (size_t i = 0; size > 0 && i < state->n_types; i++) {
		if (state->types[i].memory_bytes != size)
			return true;
	}
	return false;
}

void clv_sriov_classify_types(
	const struct clv_sriov_backend *backend, struct clv_vf_state *state)
{
	bool is_vfio = state->framework == CLV_VF_VFIO;

	state->has_all_types = state->n_types > 0;
	for (size_t i = 0; is_vfio && i < state->n; i++) {
		const struct clv_vgpu_type *has = clv_vgpu_find(
			backend->types, backend->n_types, state->items[i].quota.type);

		if (state->items[i].quota.type[0] == '\0')
			continue;
		state->has_all_types = false;
		state->is_mixed = state->is_mixed ||
				  (has && has_other_size(state, has->memory_bytes));
	}
}

/* An mdev is a folder of the function whose name is a UUID. */
static bool find_mdev(const char *vf_address, char ret[40])
{
	_cleanup_names_ struct clv_names names = {0};

	if (clv_file_list(&names, "bus/pci/devices/%s", vf_address) < 0)
		return false;
	for (size_t i = 0; i < names.n; i++) {
		if (strlen(names.items[i]) == 36 && names.items[i][8] == '-' &&
			names.items[i][13] == '-') {
			snprintf(ret, 40, "%.36s", names.items[i]);
			return true;
		}
	}
	return false;
}

/* The name of a type, or its id if the name is not known. */
static void name_type(
	const struct clv_sriov_backend *backend, const char *id, char ret[48])
{
	const struct clv_vgpu_type *type =
		clv_vgpu_find(backend->types, backend->n_types, id);

	snprintf(ret, 48, "%s", type ? type->name : id);
}

void clv_sriov_read_type(const struct clv_sriov_backend *backend,
	enum clv_vf_framework framework, const char *vf_address, char ret_type[48],
	char ret_mdev[40])
{
	char id[24];

	ret_type[0] = '\0';
	ret_mdev[0] = '\0';
	if (framework == CLV_VF_VFIO &&
		clv_file_read(id, sizeof(id), CURRENT, vf_address) > 0 &&
		strcmp(id, "0") != 0)
		name_type(backend, id, ret_type);
	if (framework != CLV_VF_MDEV || !find_mdev(vf_address, ret_mdev))
		return;
	if (clv_file_link(id, sizeof(id), VF "%s/mdev_type", vf_address, ret_mdev) == 0)
		name_type(backend, id, ret_type);
	else
		snprintf(ret_type, 48, "of a type that the driver does not report");
}

/* A UUID that is stable for a function: version 8 of RFC 9562, "cleave" in ASCII and the
 * PCI address. */
static void make_mdev_uuid(const char *vf_address, char ret[40])
{
	unsigned domain = 0, bus = 0, device = 0, function = 0;

	sscanf(vf_address, "%x:%x:%x.%x", &domain, &bus, &device, &function);
	snprintf(ret, 40, "636c6561-7665-8000-8000-%06x%02x%02x%02x", domain & 0xffffff,
		bus & 0xff, device & 0xff, function & 0xff);
}

static int remove_vgpu(enum clv_vf_framework framework, const char *vf_address,
	const char *what, struct clv_error *err)
{
	char mdev[40];
	int r;

	if (framework == CLV_VF_VFIO)
		r = clv_file_write("0", CURRENT, vf_address);
	else if (find_mdev(vf_address, mdev))
		r = clv_file_write("1", VF "%s/remove", vf_address, mdev);
	else
		return 0;
	return r < 0 ? clv_file_error(err, -r, "%s: cannot remove its vGPU", what) : 0;
}

static int make_mdev(const char *vf_address, const struct clv_vgpu_type *type,
	const char *uuid, const char *what, struct clv_error *err)
{
	uint64_t available = 1;
	int r;

	clv_file_read_number(
		&available, TYPES "/%s/available_instances", vf_address, type->id);
	if (available == 0)
		return clv_error_set(err, -ENOSPC,
			"%s: no more vGPUs of type %s fit on the GPU beside the existing "
			"ones",
			what, type->name);
	r = clv_file_write(uuid, TYPES "/%s/create", vf_address, type->id);
	if (r < 0)
		return clv_file_error(err, -r, "%s: vGPU type %s", what, type->name);
	if (!clv_file_exists(VF "%s", vf_address, uuid))
		return clv_error_set(err, -EIO,
			"%s: the driver accepted vGPU type %s but created no mdev: see "
			"dmesg",
			what, type->name);
	return 0;
}

static int make_vfio(const char *vf_address, const struct clv_vgpu_type *type,
	const char *what, struct clv_error *err)
{
	char now[24];
	int r = clv_file_write(type->id, CURRENT, vf_address);

	if (r == 0)
		r = clv_file_read(now, sizeof(now), CURRENT, vf_address);
	if (r < 0)
		return clv_file_error(err, -r, "%s: vGPU type %s", what, type->name);
	if (strcmp(now, type->id) != 0)
		return clv_error_set(err, -EIO,
			"%s: the driver accepted vGPU type %s but shows %s: see dmesg",
			what, type->name, now);
	return 0;
}

static int refuse_type(const struct clv_sriov_backend *backend,
	const struct clv_vgpu_type *offered, size_t n, const char *type, const char *what,
	struct clv_error *err)
{
	char names[256];

	clv_vgpu_list(offered, n, type, names, sizeof(names));
	if (clv_vgpu_find(backend->types, backend->n_types, type))
		return clv_error_set(err, -ENOSPC,
			"%s: no vGPU of type %s can be created on it now; possible types "
			"are: %s",
			what, type, names);
	return clv_error_set(err, -EINVAL, "%s: there is no vGPU type %s; there is %s",
		what, type, names);
}

/* Creates a vGPU on a function that has none.  uuid is for mdev alone. */
static int make_vgpu(const struct clv_sriov_backend *backend,
	enum clv_vf_framework framework, const char *vf_address, const char *type,
	const char *uuid, const char *what, struct clv_error *err)
{
	_cleanup_free_ struct clv_vgpu_type *offered = NULL;
	const struct clv_vgpu_type *wanted;
	size_t n = 0;
	int r = list_types(vf_address, &offered, &n);

	if (r < 0)
		return clv_error_errno(err, -r, "%s", what);
	wanted = clv_vgpu_find(offered, n, type);
	if (!wanted)
		return refuse_type(backend, offered, n, type, what, err);
	return framework == CLV_VF_MDEV ? make_mdev(vf_address, wanted, uuid, what, err)
					: make_vfio(vf_address, wanted, what, err);
}

/* Creates the removed vGPU again after another type failed with *err, which tells if this
 * fails, too. */
static void restore_vgpu(const struct clv_sriov_backend *backend,
	enum clv_vf_framework framework, const char *vf_address, const char *type,
	const char *uuid, const char *what, struct clv_error *err)
{
	size_t used;

	if (make_vgpu(backend, framework, vf_address, type, uuid, what, NULL) >= 0 ||
		!err)
		return;
	used = strlen(err->msg);
	snprintf(err->msg + used, sizeof(err->msg) - used,
		"; its vGPU of type %s is removed and cannot be created again", type);
}

int clv_sriov_set_type(struct clv_sriov_backend *backend, enum clv_vf_framework framework,
	const char *vf_address, const char *type, const char *what, struct clv_error *err)
{
	char now[48], mdev[40], uuid[40];
	int r = 0;

	if (!clv_vgpu_has_types(framework))
		return clv_error_set(
			err, -ENOTSUP, "%s: only NVIDIA's GPUs have vGPU types", what);
	clv_sriov_read_type(backend, framework, vf_address, now, mdev);
	if (clv_vgpu_is_type(now, type))
		return 0;
	/* Removed first, because the types that can be created depend on existing vGPUs.
	 */
	if (now[0] != '\0')
		r = remove_vgpu(framework, vf_address, what, err);
	if (r < 0 || strcmp(type, CLV_VGPU_NONE) == 0)
		return r;
	make_mdev_uuid(vf_address, uuid);
	r = make_vgpu(backend, framework, vf_address, type, uuid, what, err);
	if (r < 0 && now[0] != '\0')
		restore_vgpu(backend, framework, vf_address, now, mdev, what, err);
	return r;
}
