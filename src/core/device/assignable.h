/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_node_device;

/* How virtual machines can have a device. */
enum clv_assignable {
	CLV_ASSIGNABLE_WHOLE,       /* ready for assignment as a whole */
	CLV_ASSIGNABLE_PARTITIONED, /* it can be divided into virtual functions, or is */
	CLV_ASSIGNABLE_SRIOV_OFF, /* it could be; its driver or firmware does not do it */
	CLV_ASSIGNABLE_NONE,
	_CLV_ASSIGNABLE_MAX,
};

/* *ret_why: the reason of the last two, which belongs to the device or is constant; NULL
 * for the others. */
enum clv_assignable clv_assignable_of(
	const struct clv_node_device *device, const char **ret_why);

/* "whole", "partitioned", "sriov_off", "none" */
const char *clv_assignable_to_string(enum clv_assignable assignable);
