/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>

/* The kernel driver, where there is one: each context has its channel groups there. All
 * calls go through the C library's open and ioctl, so that a preloaded library sees
 * them. */

struct device;

/* Creates the context's objects, which are freed with it; 0 without a driver. */
uint32_t dcu_rm_open(const struct device *device, uint32_t context);
void dcu_rm_close(uint32_t object);
