/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/hsa-hooks.h"

/* libhsa-runtime64 behind the gate: struct clv_hsa_functions clv_hsa, which
 * clv_hsa_load() fills once, and clv_hsa_library, all from hooks.list. */
