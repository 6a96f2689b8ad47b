/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* The GPUs of cloud instance types. */

struct clv_gpu;

/* Finds the GPUs of an instance type by name, in any case; Azure's with or without
 * "Standard_".  NULL if the type is unknown. */
const struct clv_gpu *clv_cloud_find(const char *type, unsigned *ret_count);

/* The nearest known type, or NULL. */
const char *clv_cloud_suggest(const char *type);

/* All types; NULL after the last. */
const char *clv_cloud_type(size_t at);
