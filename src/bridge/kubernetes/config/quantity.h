/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Parses a quantity of Kubernetes, such as "30", "8Gi", "1.5G" and "250m"; fractions are
 * rounded up.  -EINVAL: not a quantity, negative or too large.  Pure. */
int clv_kube_parse_quantity(const char *text, uint64_t *ret);
