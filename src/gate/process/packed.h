/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* A number of commands and their estimated time, packed into one word so that one atomic
 * addition books both.  The count is in the low bits: its limits are single bits, and
 * times compare after a shift. */
#define CLV_FLIGHT_COUNT_BITS 20
#define CLV_FLIGHT_PACK(estimate_ns) ((estimate_ns) << CLV_FLIGHT_COUNT_BITS | 1)
#define CLV_FLIGHT_NS(word) ((word) >> CLV_FLIGHT_COUNT_BITS)
#define CLV_FLIGHT_COUNT(word) ((word) & ((UINT64_C(1) << CLV_FLIGHT_COUNT_BITS) - 1))
