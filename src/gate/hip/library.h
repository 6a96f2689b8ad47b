/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/hip-hooks.h"

/* Generated from hooks.list: clv_hip, the real functions of libamdhip64, which
 * clv_hip_load() fills in once, and clv_hip_library, the description of its hooks. */
