/* SPDX-License-Identifier: Apache-2.0 */
/* What NVML's answers are restricted to: the lease's devices, found by UUID, and its
 * processes, identified by the pids that the agent and the driver use. */
#include "gate/nvml/lease.h"

#include "gate/attach/attachment.h"
#include "gate/nvml-hooks.h"
#include "gate/process/view.h"

#include <string.h>

enum clv_nvml_sight clv_nvml_get_sight(const struct clv_view **ret_view)
{
	bool is_refused;
	struct clv_view *view = clv_gate_view(&is_refused);

	*ret_view = view;
	if (!view)
		return is_refused ? CLV_NVML_NOTHING : CLV_NVML_ALL;
	if (clv_gate_agent_is_dead(view))
		clv_gate_seek_agent(view);
	return CLV_NVML_LEASE;
}

bool clv_nvml_is_restricted(void)
{
	const struct clv_view *view;

	return clv_nvml_get_sight(&view) != CLV_NVML_ALL;
}

static int find_device(const char *uuid, struct clv_nvml_device *ret)
{
	int r;

	*ret = (struct clv_nvml_device){0};
	r = clv_nvml.nvmlDeviceGetHandleByUUID(uuid, &ret->gpu);
	if (r != CLV_NVML_SUCCESS || strncmp(uuid, "MIG-", 4) != 0)
		return r;
	ret->mig = ret->gpu;
	return clv_nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(ret->mig, &ret->gpu);
}

int clv_nvml_find_devices(const struct clv_view *view, struct clv_nvml_devices *ret)
{
	const char *rest = "";
	size_t n;

	memset(ret, 0, sizeof(*ret));
	if (view)
		rest = view->devices[0] ? view->devices : view->model;
	for (; *rest && ret->n < CLV_NVML_DEVICES_MAX; rest += n + (rest[n] != '\0')) {
		char uuid[CLV_NVML_UUID_BYTES];
		int r;

		n = strcspn(rest, ",");
		if (n >= sizeof(uuid))
			continue;
		memcpy(uuid, rest, n);
		uuid[n] = '\0';
		r = find_device(uuid, &ret->items[ret->n]);
		if (r == CLV_NVML_SUCCESS)
			ret->n++;
		else if (r != CLV_NVML_NOT_FOUND && r != CLV_NVML_INVALID_ARGUMENT)
			return r;
	}
	return CLV_NVML_SUCCESS;
}

/* The driver may return several handles for one MIG device. */
bool clv_nvml_is_same_device(void *a, void *b)
{
	char names[2][CLV_NVML_UUID_BYTES];

	if (a == b)
		return true;
	return clv_nvml.nvmlDeviceGetUUID(a, names[0], sizeof(names[0])) ==
		       CLV_NVML_SUCCESS &&
	       clv_nvml.nvmlDeviceGetUUID(b, names[1], sizeof(names[1])) ==
		       CLV_NVML_SUCCESS &&
	       strcmp(names[0], names[1]) == 0;
}

/* A process has a slot for each API that it uses. */
bool clv_nvml_find_process(
	const struct clv_view *view, uint32_t pid, uint64_t *ret_memory_bytes)
{
	uint32_t n = view ? atomic_load(&view->control->slots_used) : 0;
	bool is_found = false;

	*ret_memory_bytes = 0;
	for (uint32_t i = 0; pid != 0 && i < n && i < CLV_SLOTS; i++) {
		const struct clv_slot *slot = &view->report->slots[i];

		if (atomic_load(&slot->pid) != pid)
			continue;
		*ret_memory_bytes += atomic_load(&slot->memory_bytes);
		is_found = true;
	}
	return is_found;
}
