/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* An object of the resource manager (rm/abi.h), read from the ioctls of the process that
 * creates it. */

struct clv_rm_object {
	uint32_t client, parent, handle;
	uint32_t class; /* 0: it was freed, with all its children */
};

/* Reads an ioctl that succeeded.  False: it neither created a group, channel or subdevice
 * nor freed an object (any free is reported, since these may be descendants of the
 * object).  Pure. */
bool clv_rm_object_read(
	unsigned long request, const void *argument, struct clv_rm_object *ret);

bool clv_rm_object_is_channel(const struct clv_rm_object *object);
