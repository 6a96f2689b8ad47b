/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/hsa-hooks.h"

/* Generated from hooks.list: clv_hsa, the real functions of libhsa-runtime64, which
 * clv_hsa_load() fills in once, and clv_hsa_library, the description of its hooks. */
