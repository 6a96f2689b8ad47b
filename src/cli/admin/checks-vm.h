/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/admin/checks.h"

#include <jansson.h>

/* Whether virtual machines can be given the functions of this node's devices.  node NULL:
 * the agent does not answer. */
void clv_check_iommu(const json_t *node, struct clv_finding *ret);
