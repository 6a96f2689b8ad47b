/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Parses a quantity of Kubernetes, such as "30", "8Gi", "1.5G" and "250m" (apimachinery's
 * resource.Quantity).  -EINVAL: not a quantity, or negative.  Pure. */
int clv_quantity_parse(const char *text, double *ret);
