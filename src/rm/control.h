/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "rm/abi.h"

#include <stdbool.h>

/* Controls of the resource manager.  Each returns a status: CLV_RM_OK or another of the
 * driver's, an errno with bit 16 set, or CLV_RM_NO_SUBDEVICE. */
#define CLV_RM_FROM_ERRNO 0x10000u
#define CLV_RM_NO_SUBDEVICE 0x20000u /* there is no object to call the control on */

/* An object, and the file through which its client was created (borrowed). */
struct clv_rm_target {
	int fd;
	uint32_t client, handle;
};

/* Controls of a channel group.  SCHEDULE has two sizes; the one that the driver accepts
 * is found by trying and kept for the process.  Preempt returns once the group is off the
 * GPU. */
uint32_t clv_rm_control_schedule(struct clv_rm_target group, bool on);
uint32_t clv_rm_control_preempt(struct clv_rm_target group);
uint32_t clv_rm_control_set_timeslice(struct clv_rm_target group, uint64_t us);
uint32_t clv_rm_control_get_timeslice(struct clv_rm_target group, uint64_t *ret_us);

/* A control of a subdevice. */
uint32_t clv_rm_control_disable(
	struct clv_rm_target subdevice, struct clv_rm_disable_channels *request);
