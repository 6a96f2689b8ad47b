/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a process makes of the resource manager (rm/abi.h), read from its own calls. */

struct clv_rm_object {
	uint32_t client, parent, handle;
	uint32_t class; /* 0: it was freed, with all that hung on it */
};

/* After the ioctl succeeded, with its argument.  False: nothing that matters here was
 * made or freed: groups, channels and subdevices are kept, and what any of them may hang
 * on is freed.  Pure. */
bool clv_rm_object_read(
	unsigned long request, const void *argument, struct clv_rm_object *ret);

bool clv_rm_object_is_channel(const struct clv_rm_object *object);
