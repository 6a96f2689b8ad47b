/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>

/* What the file `readings` says of the GPU, `none` where it does not: lines of
 *   GPU WORD NUMBER
 * A number of "-" makes the call one that is not supported. */
#define DNV_UNREADABLE UINT64_MAX

uint64_t dnv_reading(unsigned gpu, const char *word, uint64_t none);
