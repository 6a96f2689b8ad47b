/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>

/* The readings of a GPU from the file `readings`, or `none`: lines of
 *   GPU WORD NUMBER
 * The number "-" makes the call unsupported. */
#define DNV_UNREADABLE UINT64_MAX

uint64_t dnv_reading(unsigned gpu, const char *word, uint64_t none);
