/* SPDX-License-Identifier: Apache-2.0 */
/* Collects Xid errors from an event set of NVML. */
#include "backend/nvidia/xids.h"

#include <string.h>

#define AT_ONCE 64 /* events of one poll, so that a storm does not block the caller */

/* A GPU without support for events, such as a virtual one, is skipped. */
static void start(struct clv_nvidia_backend *backend)
{
	const struct clv_nvidia_library *nvml = &backend->nvml;

	if (!nvml->make_event_set || !nvml->free_event_set || !nvml->register_events ||
		!nvml->wait_for_event ||
		nvml->make_event_set(&backend->events) != CLV_NVML_SUCCESS) {
		backend->events = NULL;
		return;
	}
	for (uint32_t i = 0; i < backend->n_gpus; i++) {
		if (backend->gpus[i].code == CLV_NVML_SUCCESS)
			nvml->register_events(backend->gpus[i].handle, CLV_NVML_EVENT_XID,
				backend->events);
	}
}

static void record_xid(struct clv_nvidia_gpu *gpu, uint64_t xid)
{
	for (size_t i = 0; i < gpu->n_xids; i++) {
		if (gpu->xids[i] == xid)
			return;
	}
	if (gpu->n_xids < CLV_READING_XIDS)
		gpu->xids[gpu->n_xids++] = (uint32_t)xid;
}

/* The handle in an event may differ from that of the lookup, so the UUID is compared,
 * too.
 */
static struct clv_nvidia_gpu *find(
	struct clv_nvidia_backend *backend, struct clv_nvml_device *handle)
{
	char uuid[CLV_NVML_UUID_BYTES] = "";

	for (uint32_t i = 0; i < backend->n_gpus; i++) {
		if (backend->gpus[i].handle == handle)
			return &backend->gpus[i];
	}
	if (backend->nvml.get_uuid(handle, uuid, sizeof(uuid)) != CLV_NVML_SUCCESS)
		return NULL;
	for (uint32_t i = 0; i < backend->n_gpus; i++) {
		if (strcmp(backend->gpus[i].uuid, uuid) == 0)
			return &backend->gpus[i];
	}
	return NULL;
}

void clv_nvidia_xids_poll(struct clv_nvidia_backend *backend)
{
	if (!backend->events)
		start(backend);
	for (int i = 0; backend->events && i < AT_ONCE; i++) {
		struct clv_nvml_event event = {0};
		struct clv_nvidia_gpu *gpu;

		if (backend->nvml.wait_for_event(backend->events, &event, 0) !=
			CLV_NVML_SUCCESS)
			return;
		gpu = event.device ? find(backend, event.device) : NULL;
		if (gpu && event.type == CLV_NVML_EVENT_XID)
			record_xid(gpu, event.data);
	}
}

void clv_nvidia_xids_stop(struct clv_nvidia_backend *backend)
{
	if (!backend->events)
		return;
	/* Pending events would be lost with the set. */
	clv_nvidia_xids_poll(backend);
	backend->nvml.free_event_set(backend->events);
	backend->events = NULL;
}
