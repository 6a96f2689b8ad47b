/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NVIDIA's vGPU types by name.  Names are kept and shown as the driver writes them
 * ("NVIDIA L40S-4Q", "GRID A100-4C"); users may omit the brand and use any case. */

/* The type in a layout for functions that are not to be vGPUs. */
#define CLV_VGPU_NONE "none"

/* Whether functions become usable by getting a type. */
bool clv_vgpu_has_types(enum clv_vf_framework framework);

/* Whether the type that was read ("" for none) is the requested one. */
bool clv_vgpu_is_type(const char *now, const char *asked);

/* By name or id; NULL if there is none. */
const struct clv_vgpu_type *clv_vgpu_find(
	const struct clv_vgpu_type *types, size_t n, const char *text);

/* Memory by the name, for types that report none: the number after the last dash is in
 * GiB, and 0 means half a GiB.  0 if the name has no such number. */
uint64_t clv_vgpu_memory_of_name(const char *name);

/* Lists the types: "A, B, C, and the nearest is B"; "none". */
void clv_vgpu_list(const struct clv_vgpu_type *types, size_t n, const char *asked,
	char *ret, size_t ret_bytes);
