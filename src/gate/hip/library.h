/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/hip-hooks.h"

/* libamdhip64 behind the gate: struct clv_hip_functions clv_hip, which clv_hip_load()
 * fills once, and clv_hip_library, all from hooks.list. */
