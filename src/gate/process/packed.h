/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* How many commands, and how long by estimate: one word, so that one locked addition
 * books both.  The count is below: its limits are single bits, and time compares by a
 * shift. */
#define CLV_FLIGHT_COUNT_BITS 20
#define CLV_FLIGHT_PACK(estimate_ns) ((estimate_ns) << CLV_FLIGHT_COUNT_BITS | 1)
#define CLV_FLIGHT_NS(word) ((word) >> CLV_FLIGHT_COUNT_BITS)
#define CLV_FLIGHT_COUNT(word) ((word) & ((UINT64_C(1) << CLV_FLIGHT_COUNT_BITS) - 1))
