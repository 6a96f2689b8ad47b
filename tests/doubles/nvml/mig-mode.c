/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"
#include "events.h"
#include "handles.h"
#include "processes.h"

int dnv_nvmlDeviceGetMigMode(
	struct dnv_handle *device, uint32_t *current, uint32_t *pending)
{
	struct dnv_target target;
	int r = dnv_resolve_mig_gpu(device, &target);

	if (r)
		return r;
	if (!current || !pending)
		return DNV_INVALID_ARGUMENT;
	*current = target.state->mig;
	*pending = target.state->mig_pending;
	return DNV_SUCCESS;
}

static bool has_instances(const struct dnv_gpu_state *state)
{
	for (unsigned i = 0; i < DNV_GIS_MAX; i++)
		if (state->gis[i].serial)
			return true;
	return false;
}

/* Why this call cannot activate the pending mode. */
static int find_obstacle(const struct dnv_target *target)
{
	if (has_instances(target->state) || dnv_processes_use(target))
		return DNV_IN_USE;
	if (target->config->reset == DNV_RESET_REQUIRED_BY)
		return DNV_RESET_REQUIRED;
	if (target->config->reset == DNV_RESET_IMPOSSIBLE)
		return DNV_NOT_SUPPORTED;
	return DNV_SUCCESS;
}

/* A mode that could not be set at once stays pending, and the call still succeeds. */
int dnv_nvmlDeviceSetMigMode(struct dnv_handle *device, uint32_t mode, int *status)
{
	struct dnv_target target;
	int r = dnv_resolve_mig_gpu(device, &target);

	if (r)
		return r;
	if (!status || mode > 1)
		return DNV_INVALID_ARGUMENT;
	if (dnv_node()->unprivileged)
		return DNV_NO_PERMISSION;
	dnv_edit()->gpus[target.gpu].mig_pending = mode;
	*status = DNV_SUCCESS;
	if (target.state->mig == mode)
		return DNV_SUCCESS;
	*status = find_obstacle(&target);
	if (*status == DNV_SUCCESS)
		dnv_event_reset(dnv_node(), dnv_edit(), target.gpu);
	return DNV_SUCCESS;
}
