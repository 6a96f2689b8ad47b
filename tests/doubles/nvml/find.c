/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"
#include "files.h"
#include "handles.h"
#include "mig-device.h"
#include <stdio.h>
#include <string.h>

/* Lookup of handles by index, UUID or PCI address, which opens the GPU. */

static int give_gpu(unsigned gpu, struct dnv_handle **ret)
{
	const struct dnv_gpu_state *state = &dnv_state()->gpus[gpu];

	if (state->lost)
		return DNV_GPU_IS_LOST;
	dnv_file_open(dnv_dirfd(), gpu, state->minor);
	*ret = dnv_handle_gpu(gpu);
	return DNV_SUCCESS;
}

static bool is_bound(unsigned gpu)
{
	return !dnv_state()->gpus[gpu].unbound;
}

/* The GPU of an index, and the number of GPUs, of those that the driver has. */
static uint32_t find_bound(uint32_t index, uint32_t *ret_n)
{
	uint32_t found = DNV_GPUS_MAX, n = 0;

	for (uint32_t i = 0; i < dnv_node()->n_gpus; i++)
		if (is_bound(i) && n++ == index)
			found = i;
	*ret_n = n;
	return found;
}

int dnv_nvmlDeviceGetCount_v2(uint32_t *count)
{
	if (!count)
		return DNV_INVALID_ARGUMENT;
	find_bound(0, count);
	return DNV_SUCCESS;
}

int dnv_nvmlDeviceGetHandleByIndex_v2(uint32_t index, struct dnv_handle **ret)
{
	uint32_t n, gpu = find_bound(index, &n);

	if (!ret || index >= n)
		return DNV_INVALID_ARGUMENT;
	return give_gpu(gpu, ret);
}

static int find_mig_by_uuid(const char *uuid, struct dnv_handle **ret)
{
	for (unsigned gpu = 0; gpu < dnv_node()->n_gpus; gpu++)
		for (unsigned i = 0; i < DNV_MIGS_MAX; i++) {
			struct dnv_handle *handle = dnv_mig_at(gpu, i);

			if (!handle || !dnv_mig_has_uuid(handle, uuid))
				continue;
			*ret = handle;
			return DNV_SUCCESS;
		}
	return DNV_NOT_FOUND;
}

int dnv_nvmlDeviceGetHandleByUUID(const char *uuid, struct dnv_handle **ret)
{
	if (!uuid || !ret)
		return DNV_INVALID_ARGUMENT;
	if (strncmp(uuid, "MIG-", 4) == 0)
		return find_mig_by_uuid(uuid, ret);
	if (strncmp(uuid, "GPU-", 4) != 0)
		return DNV_INVALID_ARGUMENT;
	for (unsigned i = 0; i < dnv_node()->n_gpus; i++)
		if (is_bound(i) && strcmp(dnv_node()->gpus[i].uuid, uuid) == 0)
			return give_gpu(i, ret);
	return DNV_NOT_FOUND;
}

struct address {
	unsigned domain, bus, device, function;
};

/* The full address, or without the function, or without the domain. */
static bool read_address(const char *text, struct address *ret)
{
	int end = 0;

	*ret = (struct address){0};
	sscanf(text, "%x:%x:%x%n.%x%n", &ret->domain, &ret->bus, &ret->device, &end,
		&ret->function, &end);
	if (end && !text[end])
		return true;
	end = 0;
	*ret = (struct address){0};
	sscanf(text, "%x:%x.%x%n", &ret->bus, &ret->device, &ret->function, &end);
	return end && !text[end];
}

int dnv_nvmlDeviceGetHandleByPciBusId_v2(const char *id, struct dnv_handle **ret)
{
	struct address at;

	if (!id || !ret || !read_address(id, &at))
		return DNV_INVALID_ARGUMENT;
	for (unsigned i = 0; i < dnv_node()->n_gpus; i++) {
		const struct dnv_gpu *gpu = &dnv_node()->gpus[i];

		if (is_bound(i) && gpu->domain == at.domain && gpu->bus == at.bus &&
			gpu->device == at.device && !at.function)
			return give_gpu(i, ret);
	}
	return DNV_NOT_FOUND;
}
