/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <string.h>

/* Memory shared between processes: by handle, and by file. */

struct shared {
	struct hsa_ipc handle;
	uint64_t bytes, offset;
	int32_t device, pid;
};

_Static_assert(
	sizeof(struct shared) <= sizeof(struct hip_ipc), "it goes into the handle");

int dhi_hipIpcGetMemHandle(struct hip_ipc *ret, void *p)
{
	struct shared shared = {.device = 0};
	struct memory memory;

	if (!ret || !dhi_memory_find(p, &memory) || memory.kind != MEMORY_DEVICE)
		return HIP_INVALID_VALUE;
	if (hsa_amd_ipc_memory_create(memory.base, memory.bytes, &shared.handle))
		return HIP_INVALID_DEVICE_POINTER;
	shared.bytes = memory.bytes;
	shared.offset = (uint64_t)((char *)p - memory.base);
	shared.device = memory.device->ordinal;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, &shared, sizeof(shared));
	return 0;
}

int dhi_hipIpcOpenMemHandle(void **ret, struct hip_ipc handle, unsigned flags)
{
	struct memory memory = {.kind = MEMORY_FOREIGN, .device = dhi_current()};
	struct shared shared;
	void *p;

	if (!ret)
		return HIP_INVALID_VALUE;
	memcpy(&shared, &handle, sizeof(shared));
	if (hsa_amd_ipc_memory_attach(
		    &shared.handle, shared.bytes, 1, &memory.device->agent, &p))
		return HIP_INVALID_VALUE;
	memory.base = p;
	memory.bytes = shared.bytes;
	dhi_memory_add(&memory);
	*ret = memory.base + shared.offset;
	return 0;
}

int dhi_hipIpcCloseMemHandle(void *p)
{
	struct memory memory;

	if (!dhi_memory_find(p, &memory) || memory.kind != MEMORY_FOREIGN)
		return HIP_INVALID_VALUE;
	dhi_device_await(memory.device);
	dhi_memory_remove(memory.base, &memory);
	return hsa_amd_ipc_memory_detach(memory.base) ? HIP_INVALID_VALUE : 0;
}
