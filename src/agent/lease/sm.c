/* SPDX-License-Identifier: Apache-2.0 */
/* Limits in space.  A process in which nothing enforces the limit is always reported,
 * because its lease has the limit in name only. */
#include "agent/lease/sm.h"

#include "agent/device/devices.h"
#include "agent/event/events.h"
#include "agent/lease/lease.h"
#include "arbiter/arbiter.h"
#include "arbiter/attach.h"
#include "base/array.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MPS_CONTROL "/tmp/nvidia-mps/control"
#define FIRST_GREEN_DRIVER 555 /* the driver of CUDA 12.5 */

static const struct {
	const char *held_by, *reason;
} states[_CLV_ATTACH_SM_MAX] = {
	[CLV_ATTACH_SM_MPS] = {"mps", NULL},
	[CLV_ATTACH_SM_MASKS] = {"masks", NULL},
	[CLV_ATTACH_SM_GREEN] = {"green_contexts", NULL},
	[CLV_ATTACH_SM_NO_MEANS] = {"nothing",
		"its driver has no means to enforce the limit"},
	[CLV_ATTACH_SM_OTHER_CONTEXT] = {"nothing",
		"it created a context of its own, which only an MPS daemon could limit"},
	[CLV_ATTACH_SM_OTHER_STREAM] = {"nothing",
		"it uses a default or blocking stream, which only an MPS daemon could "
		"limit"},
	[CLV_ATTACH_SM_OTHER_GRAPH] = {"nothing", "it adds kernels to graphs explicitly, "
						  "which only an MPS daemon could limit"},
	[CLV_ATTACH_SM_OTHER_API] = {"nothing",
		"it uses OpenCL, whose gate cannot limit multiprocessors"},
};

static bool has_masks(const struct clv_device *device)
{
	return strcmp(device->backend, "amd") == 0;
}

/* If the version is unknown (0) the driver may have them. */
static bool has_green_contexts(const struct clv_device *device)
{
	int major = atoi(device->driver);

	return major == 0 || major >= FIRST_GREEN_DRIVER;
}

int clv_sm_check(const struct clv_device *device, uint32_t ppm, struct clv_error *err)
{
	if (ppm == 0 || has_masks(device))
		return 0;
	if (strcmp(device->backend, "nvidia") != 0)
		return clv_error_set(err, -EINVAL,
			"nothing on %s enforces sm, which needs an NVIDIA or AMD GPU: "
			"leave out sm, or request such a device",
			device->name);
	if (has_green_contexts(device) || access(MPS_CONTROL, F_OK) == 0)
		return 0;
	return clv_error_set(err, -EINVAL,
		"the driver of %s, %s, has no green contexts and there is no MPS daemon "
		"at %s, so nothing enforces sm: leave it out, start "
		"nvidia-cuda-mps-control, or install driver %d or later",
		device->name, device->driver, MPS_CONTROL, FIRST_GREEN_DRIVER);
}

struct clv_sm clv_sm_place_on(const struct clv_agent_device *device, uint32_t ppm)
{
	struct clv_sm sm = {.ppm = ppm}, *others;
	size_t n = 0;

	others = ppm > 0 ? calloc(device->n_leases + 1, sizeof(*others)) : NULL;
	if (!others)
		return sm;
	for (size_t i = 0; i < device->n_leases; i++) {
		const struct clv_lease_record *record = &device->leases[i]->record;

		if (record->sm.ppm > 0 && !record->is_queued)
			others[n++] = record->sm;
	}
	sm.first_ppm = clv_sm_place(others, n, ppm);
	free(others);
	return sm;
}

/* The part of the device that the lease gets.  On NVIDIA GPUs it is a maximum: the driver
 * decides on granularity and position. */
static struct clv_sm_part part_of(const struct clv_lease *lease)
{
	/* Masks of newer AMD GPUs switch compute units in pairs.  GPUs with several dies
	 * distribute the units of a mask to up to eight dies in turn, and no die should
	 * be left without. */
	static const struct clv_sm_steps amd_steps = {2, 8}, nvidia_steps = {1, 1};
	const struct clv_device *info = &lease->device->info;

	return clv_sm_count(&lease->record.sm, info->compute_units,
		has_masks(info) ? &amd_steps : &nvidia_steps);
}

void clv_sm_publish(const struct clv_lease *lease)
{
	struct clv_sm_part part = part_of(lease);

	clv_arbiter_set_sm(lease->arbiter_lease, lease->record.sm.ppm, &part);
}

void clv_sm_record_state(
	struct clv_attached *process, const struct clv_attach_sm_state *state)
{
	struct clv_lease *lease = process->lease;
	bool is_new;

	if (lease->record.sm.ppm == 0 || state->state <= CLV_ATTACH_SM_UNKNOWN ||
		state->state >= _CLV_ATTACH_SM_MAX)
		return;
	is_new = process->sm < state->state;
	/* The worst state is kept: the process may do the same again. */
	if (is_new)
		process->sm = (enum clv_attach_sm)state->state;
	process->sm_count = state->count;
	if (is_new && process->sm > _CLV_ATTACH_SM_HELD)
		clv_lease_emit(lease, CLV_EVENT_SM_NOT_HELD,
			"nothing limits process %d to %u %% of the device's "
			"multiprocessors: %s",
			(int)process->record.id.pid, lease->record.sm.ppm / 10000,
			states[process->sm].reason);
}

/* The process in which the limit is enforced worst, which determines the lease's
 * state. */
static const struct clv_attached *find_worst(const struct clv_lease *lease)
{
	const struct clv_attached *process, *worst = NULL;

	TAILQ_FOREACH(process, &lease->processes, entry)
	{
		if (!worst || process->sm > worst->sm)
			worst = process;
	}
	return worst;
}

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

json_t *clv_sm_to_json(const struct clv_lease *lease)
{
	const struct clv_attached *worst = find_worst(lease);
	enum clv_attach_sm state = worst ? worst->sm : CLV_ATTACH_SM_UNKNOWN;
	bool is_placed = has_masks(&lease->device->info);
	struct clv_sm_part part = part_of(lease);
	uint32_t count = is_placed ? part.count : worst ? worst->sm_count : 0;

	if (lease->record.sm.ppm == 0)
		return json_null();
	return json_pack("{s:f,s:o,s:o,s:o,s:o}", "fraction",
		(double)lease->record.sm.ppm / CLV_PPM, "count",
		count > 0 ? json_integer(count) : json_null(), "first",
		is_placed ? json_integer(part.first) : json_null(), "held_by",
		text_or_null(states[state].held_by), "reason",
		text_or_null(states[state].reason));
}
