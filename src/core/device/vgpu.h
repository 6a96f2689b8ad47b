/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NVIDIA's vGPU types by name.  A name is kept and shown as the driver writes it, "NVIDIA
 * L40S-4Q" or "GRID A100-4C"; people may leave the brand out, and the case is theirs. */

/* What a layout says to have functions that are no vGPU. */
#define CLV_VGPU_NONE "none"

/* Functions are made usable by being given a type. */
bool clv_vgpu_has_types(enum clv_vf_framework framework);

/* Whether a type that was read ("" for none) is the one that is asked for. */
bool clv_vgpu_is_type(const char *now, const char *asked);

/* By name or id; NULL: there is none such. */
const struct clv_vgpu_type *clv_vgpu_find(
	const struct clv_vgpu_type *types, size_t n, const char *text);

/* What the name says, for types that say no more: the number behind the dash is GiB, and
 * 0 stands for a half.  0: it says nothing. */
uint64_t clv_vgpu_memory_of_name(const char *name);

/* "A, B, C, and the nearest is B" of what there is; "none". */
void clv_vgpu_list(const struct clv_vgpu_type *types, size_t n, const char *asked,
	char *ret, size_t ret_bytes);
