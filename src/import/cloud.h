/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* The GPUs of cloud instance types. */

struct clv_gpu;

/* By name, whatever the case; Azure's with or without "Standard_".  NULL: an unknown one.
 */
const struct clv_gpu *clv_cloud_find(const char *type, unsigned *ret_count);

/* The nearest that is known, or NULL. */
const char *clv_cloud_suggest(const char *type);

/* One after the other; NULL behind the last. */
const char *clv_cloud_type(size_t at);
