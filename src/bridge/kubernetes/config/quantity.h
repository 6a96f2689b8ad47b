/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Kubernetes' quantities, as "30", "8Gi", "1.5G" and "250m" are.  0, or -EINVAL: none,
 * negative or too large.  Parts of a whole are rounded up.  Pure. */
int clv_kube_parse_quantity(const char *text, uint64_t *ret);
