/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>

/* The kernel driver, where there is one: each context has its channel groups there.  All
 * goes through the C library's open and ioctl, so that others can stand in between. */

struct device;

/* The context's objects, to be freed with it; 0 where there is no driver. */
uint32_t dcu_rm_open(const struct device *device, uint32_t context);
void dcu_rm_close(uint32_t object);
