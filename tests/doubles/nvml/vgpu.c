/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include "call.h"
#include "handles.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

/* vGPUs as the host sees them. The types are in `node`; the running ones are in the
 * node's file `vgpus`, a line each, of
 *   GPU TYPE INSTANCE
 * As with equal sizes, a GPU has vGPUs of one type at a time. */

#define VGPUS_MAX 32

struct vgpus {
	uint32_t types[VGPUS_MAX], instances[VGPUS_MAX];
	uint32_t n;
};

DNV_TELLS(nvmlDeviceGetVirtualizationMode, DNV_KIND_GPU, uint32_t, target.config->vgpu)

static int resolve_host(const struct dnv_handle *device, struct dnv_target *ret)
{
	int r = dnv_resolve(device, DNV_KIND_GPU, ret);

	return !r && ret->config->vgpu != DNV_VGPU_HOST ? DNV_NOT_SUPPORTED : r;
}

int dnv_nvmlDeviceGetHostVgpuMode(struct dnv_handle *device, uint32_t *mode)
{
	struct dnv_target target;
	int r = resolve_host(device, &target);

	if (r)
		return r;
	if (!mode)
		return DNV_INVALID_ARGUMENT;
	*mode = target.config->sriov;
	return DNV_SUCCESS;
}

static bool read_vgpu(const struct dnv_line *line, uint32_t gpu, struct vgpus *ret)
{
	uint64_t on, type, instance;

	if (line->n_words != 3 || ret->n == VGPUS_MAX ||
		!dnv_text_number(line->words[0], 0, DNV_GPUS_MAX - 1, &on) ||
		!dnv_text_number(line->words[1], 0, UINT32_MAX, &type) ||
		!dnv_text_number(line->words[2], 0, UINT32_MAX, &instance))
		return false;
	if (on != gpu)
		return true;
	ret->types[ret->n] = (uint32_t)type;
	ret->instances[ret->n++] = (uint32_t)instance;
	return true;
}

static void read_vgpus(uint32_t gpu, struct vgpus *ret)
{
	char *text = dnv_text_read(dnv_dirfd(), "vgpus"), *rest = text;
	struct dnv_line line = {0};

	*ret = (struct vgpus){0};
	while (dnv_text_next(&rest, &line))
		if (!read_vgpu(&line, gpu, ret))
			dnv_text_die("vgpus", &line);
	free(text);
}

static bool is_creatable(const struct dnv_vgpu_type *type, const struct vgpus *active)
{
	return active->n < type->max && (!active->n || active->types[0] == type->id);
}

static int answer_types(
	struct dnv_handle *device, bool creatable, uint32_t *count, uint32_t *ret)
{
	uint32_t n = 0, ids[DNV_VGPU_TYPES_MAX];
	struct dnv_target target;
	struct vgpus active;
	int r = resolve_host(device, &target);

	if (r)
		return r;
	read_vgpus(target.gpu, &active);
	for (uint32_t i = 0; i < dnv_node()->n_vgpu_types; i++) {
		const struct dnv_vgpu_type *type = &dnv_node()->vgpu_types[i];

		if (type->gpu == target.gpu &&
			(!creatable || is_creatable(type, &active)))
			ids[n++] = type->id;
	}
	return dnv_answer_array(ret, count, ids, n, sizeof(ids[0]));
}

int dnv_nvmlDeviceGetSupportedVgpus(
	struct dnv_handle *device, uint32_t *count, uint32_t *ret)
{
	return answer_types(device, false, count, ret);
}

int dnv_nvmlDeviceGetCreatableVgpus(
	struct dnv_handle *device, uint32_t *count, uint32_t *ret)
{
	return answer_types(device, true, count, ret);
}

int dnv_nvmlDeviceGetActiveVgpus(
	struct dnv_handle *device, uint32_t *count, uint32_t *ret)
{
	struct dnv_target target;
	struct vgpus active;
	int r = resolve_host(device, &target);

	if (r)
		return r;
	read_vgpus(target.gpu, &active);
	return dnv_answer_array(ret, count, active.instances, active.n, sizeof(*ret));
}

static const struct dnv_vgpu_type *find_type(uint32_t id)
{
	for (uint32_t i = 0; i < dnv_node()->n_vgpu_types; i++)
		if (dnv_node()->vgpu_types[i].id == id)
			return &dnv_node()->vgpu_types[i];
	return NULL;
}

int dnv_nvmlVgpuTypeGetName(uint32_t type, char *name, uint32_t *bytes)
{
	const struct dnv_vgpu_type *it = find_type(type);
	uint32_t room;

	if (!it || !name || !bytes)
		return DNV_INVALID_ARGUMENT;
	room = *bytes;
	*bytes = (uint32_t)strlen(it->name) + 1;
	return dnv_answer_text(name, room, it->name);
}

int dnv_nvmlVgpuTypeGetFramebufferSize(uint32_t type, uint64_t *bytes)
{
	const struct dnv_vgpu_type *it = find_type(type);

	if (!it || !bytes)
		return DNV_INVALID_ARGUMENT;
	*bytes = it->memory_mib << 20;
	return DNV_SUCCESS;
}

int dnv_nvmlVgpuTypeGetMaxInstances(
	struct dnv_handle *device, uint32_t type, uint32_t *count)
{
	const struct dnv_vgpu_type *it = find_type(type);
	struct dnv_target target;
	int r = resolve_host(device, &target);

	if (r)
		return r;
	if (!it || it->gpu != target.gpu || !count)
		return DNV_INVALID_ARGUMENT;
	*count = it->max;
	return DNV_SUCCESS;
}
