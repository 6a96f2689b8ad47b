/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include "call.h"
#include "handles.h"
#include "mig-device.h"
#include "processes.h"
#include "readings.h"
#include <stdio.h>
#include <string.h>

/* Queries of a GPU, some of which also apply to a MIG device. Where the vendor does not
 * document a query for a MIG device, it is refused here. */

#define MIB (1ULL << 20)
/* The driver's reserve of a MIG device's memory. */
#define MIG_RESERVED_MIB 11

#define EITHER (DNV_KIND_GPU | DNV_KIND_MIG)

DNV_TELLS(nvmlDeviceGetIndex, EITHER, uint32_t,
	target.kind == DNV_KIND_MIG ? dnv_mig_index(&target) : target.gpu)

/* Before R470 the names had no vendor prefix. */
static const char *name_of(const struct dnv_model *model)
{
	return DNV_DRIVER < 470 && strncmp(model->name, "NVIDIA ", 7) == 0
		       ? model->name + 7
		       : model->name;
}

int dnv_nvmlDeviceGetName(struct dnv_handle *device, char *name, uint32_t bytes)
{
	char text[128], mig[48] = "";
	struct dnv_target target;
	int r = dnv_resolve(device, EITHER, &target);

	if (r)
		return r;
	if (target.kind == DNV_KIND_MIG)
		dnv_ci_name(target.gi_profile, target.ci_profile, mig, sizeof(mig));
	snprintf(text, sizeof(text), "%s%s%s", name_of(target.model), *mig ? " " : "",
		mig);
	return dnv_answer_text(name, bytes, text);
}

int dnv_nvmlDeviceGetUUID(struct dnv_handle *device, char *uuid, uint32_t bytes)
{
	struct dnv_target target;
	char text[96];
	int r = dnv_resolve(device, EITHER, &target);

	if (r)
		return r;
	if (target.kind == DNV_KIND_GPU)
		return dnv_answer_text(uuid, bytes, target.config->uuid);
	dnv_mig_uuid(&target, dnv_node()->legacy_uuids, text);
	return dnv_answer_text(uuid, bytes, text);
}

int dnv_nvmlDeviceGetPciInfo_v3(struct dnv_handle *device, struct dnv_pci_info *info)
{
	struct dnv_target target;
	const struct dnv_gpu *gpu;
	int r = dnv_resolve_for(device, DNV_KIND_GPU, info, &target);

	if (r)
		return r;
	gpu = target.config;
	*info = (struct dnv_pci_info){
		.domain = gpu->domain,
		.bus = gpu->bus,
		.device = gpu->device,
		.device_id = target.model->device_id,
		.subsystem_id = target.model->subsystem_id,
	};
	snprintf(info->legacy_id, sizeof(info->legacy_id), "%04X:%02X:%02X.0",
		gpu->domain & 0xffff, gpu->bus & 0xff, gpu->device & 0xff);
	snprintf(info->id, sizeof(info->id), "%08X:%02X:%02X.0", gpu->domain, gpu->bus,
		gpu->device);
	return DNV_SUCCESS;
}

DNV_TELLS(nvmlDeviceGetArchitecture, EITHER, uint32_t, target.model->architecture)

int dnv_nvmlDeviceGetCudaComputeCapability(
	struct dnv_handle *device, int *major, int *minor)
{
	struct dnv_target target;
	int r = dnv_resolve(device, EITHER, &target);

	if (r)
		return r;
	if (!major || !minor)
		return DNV_INVALID_ARGUMENT;
	*major = target.model->capability[0];
	*minor = target.model->capability[1];
	return DNV_SUCCESS;
}

/* The value has no effect here. */
DNV_TELLS(nvmlDeviceGetPersistenceMode, DNV_KIND_GPU, uint32_t, 0)

DNV_TELLS(nvmlDeviceGetMinorNumber, DNV_KIND_GPU, uint32_t, target.state->minor)

/* `used` includes the driver's reserve. */
static void measure(const struct dnv_target *target, struct dnv_memory_v2 *ret)
{
	uint64_t total, reserved, used = dnv_processes_bytes(target);

	if (target->kind == DNV_KIND_MIG) {
		total = target->gi_profile->memory_mib * MIB;
		reserved = MIG_RESERVED_MIB * MIB;
	} else {
		total = target->model->memory_mib * MIB;
		reserved = target->model->reserved_mib * MIB;
	}
	if (used > total - reserved)
		used = total - reserved;
	ret->total = total;
	ret->reserved = reserved;
	ret->used = used;
	ret->free = total - reserved - used;
}

static int find_memory(struct dnv_handle *device, struct dnv_memory_v2 *ret)
{
	struct dnv_target target;
	int r = dnv_resolve(device, EITHER, &target);

	if (r)
		return r;
	/* An unprivileged process may not see the sum of the other users' memory. */
	if (target.kind == DNV_KIND_GPU && target.state->mig && dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	measure(&target, ret);
	return DNV_SUCCESS;
}

int dnv_nvmlDeviceGetMemoryInfo(struct dnv_handle *device, struct dnv_memory *info)
{
	struct dnv_memory_v2 memory;
	int r = find_memory(device, &memory);

	if (r)
		return r;
	if (!info)
		return DNV_INVALID_ARGUMENT;
	*info = (struct dnv_memory){
		.total = memory.total,
		.free = memory.free,
		.used = memory.used + memory.reserved,
	};
	return DNV_SUCCESS;
}

int dnv_nvmlDeviceGetMemoryInfo_v2(struct dnv_handle *device, struct dnv_memory_v2 *info)
{
	struct dnv_memory_v2 memory;
	int r = find_memory(device, &memory);

	if (r)
		return r;
	if (!info)
		return DNV_INVALID_ARGUMENT;
	if (info->version != DNV_VERSION(struct dnv_memory_v2, 2))
		return DNV_ARGUMENT_VERSION_MISMATCH;
	memory.version = info->version;
	*info = memory;
	return DNV_SUCCESS;
}

int dnv_nvmlDeviceGetNumGpuCores(struct dnv_handle *device, uint32_t *count)
{
	struct dnv_target target;
	int r = dnv_resolve_for(device, EITHER, count, &target);

	if (r)
		return r;
	if (target.state->mig)
		return DNV_NOT_SUPPORTED;
	*count = target.model->cores;
	return DNV_SUCCESS;
}

int dnv_nvmlDeviceGetUtilizationRates(
	struct dnv_handle *device, struct dnv_utilization *rates)
{
	struct dnv_target target;
	int r = dnv_resolve_for(device, EITHER, rates, &target);

	if (r)
		return r;
	if (target.state->mig)
		return DNV_NOT_SUPPORTED;
	/* Without a reading, a GPU with processes is busy. */
	rates->gpu = (uint32_t)dnv_reading(
		target.gpu, "busy", dnv_processes_bytes(&target) ? 50 : 0);
	rates->memory = rates->gpu / 2;
	return DNV_SUCCESS;
}

int dnv_nvmlDeviceGetAttributes_v2(struct dnv_handle *device, struct dnv_attributes *info)
{
	struct dnv_target target;
	const struct dnv_gi_profile *gi;
	int r = dnv_resolve_for(device, EITHER, info, &target);

	if (r)
		return r;
	if (target.kind == DNV_KIND_GPU)
		return DNV_NOT_SUPPORTED;
	gi = target.gi_profile;
	*info = (struct dnv_attributes){
		.counts =
			{
				.sms = dnv_ci_sms(target.model, gi, target.ci_profile),
				.copy_engines = gi->copy_engines,
				.decoders = gi->engines.decoders,
				.encoders = gi->engines.encoders,
				.jpegs = gi->engines.jpegs,
				.ofas = gi->engines.ofas,
			},
		.gi_slices = gi->slices,
		.ci_slices = target.ci_profile->slices,
		.memory_mib = gi->memory_mib,
	};
	return DNV_SUCCESS;
}

int dnv_nvmlDeviceGetAttributes(struct dnv_handle *device, struct dnv_attributes_v1 *info)
{
	struct dnv_attributes attributes;
	int r = dnv_nvmlDeviceGetAttributes_v2(device, info ? &attributes : NULL);

	if (!r)
		*info = attributes.counts;
	return r;
}
