/* SPDX-License-Identifier: Apache-2.0 */
/* Issues controls of the resource manager by ioctl. */
#include "rm/control.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/ioctl.h>

/* The sizes of GPFIFO_SCHEDULE since 575 and before.  A kernel has one driver, so the
 * size that worked once works for all files; if the driver was replaced the other size is
 * tried again. */
#define SCHEDULE_BYTES sizeof(struct clv_rm_schedule)
#define OLD_SCHEDULE_BYTES offsetof(struct clv_rm_schedule, skip_enable)

static _Atomic uint32_t schedule_bytes = SCHEDULE_BYTES;

static uint32_t control(
	struct clv_rm_target target, uint32_t command, void *parameters, uint32_t n_bytes)
{
	struct clv_rm_control call = {
		.client = target.client,
		.object = target.handle,
		.command = command,
		.parameters = (uint64_t)(uintptr_t)parameters,
		.n_bytes = n_bytes,
	};

	if (ioctl(target.fd, _IOWR(CLV_RM_IOCTL_TYPE, CLV_RM_CONTROL, call), &call) < 0)
		return CLV_RM_FROM_ERRNO | (uint32_t)errno;
	return call.status;
}

static uint32_t schedule(struct clv_rm_target group, bool on, uint32_t n_bytes)
{
	struct clv_rm_schedule parameters = {.enable = on};

	return control(group, CLV_RM_GROUP_SCHEDULE, &parameters, n_bytes);
}

uint32_t clv_rm_control_schedule(struct clv_rm_target group, bool on)
{
	uint32_t n_bytes = atomic_load_explicit(&schedule_bytes, memory_order_relaxed);
	uint32_t status = schedule(group, on, n_bytes);

	if (status != CLV_RM_INVALID_PARAMETERS)
		return status;
	n_bytes = SCHEDULE_BYTES + OLD_SCHEDULE_BYTES - n_bytes;
	status = schedule(group, on, n_bytes);
	if (status != CLV_RM_INVALID_PARAMETERS)
		atomic_store_explicit(&schedule_bytes, n_bytes, memory_order_relaxed);
	return status;
}

uint32_t clv_rm_control_preempt(struct clv_rm_target group)
{
	struct clv_rm_preempt parameters = {.wait = 1};

	return control(group, CLV_RM_GROUP_PREEMPT, &parameters, sizeof(parameters));
}

uint32_t clv_rm_control_set_timeslice(struct clv_rm_target group, uint64_t us)
{
	struct clv_rm_timeslice parameters = {.us = us};

	return control(
		group, CLV_RM_GROUP_SET_TIMESLICE, &parameters, sizeof(parameters));
}

uint32_t clv_rm_control_get_timeslice(struct clv_rm_target group, uint64_t *ret_us)
{
	struct clv_rm_timeslice parameters = {0};
	uint32_t status = control(
		group, CLV_RM_GROUP_GET_TIMESLICE, &parameters, sizeof(parameters));

	if (status == CLV_RM_OK)
		*ret_us = parameters.us;
	return status;
}

uint32_t clv_rm_control_disable(
	struct clv_rm_target subdevice, struct clv_rm_disable_channels *request)
{
	return control(subdevice, CLV_RM_DISABLE_CHANNELS, request, sizeof(*request));
}
