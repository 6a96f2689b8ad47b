/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "handles.h"

/* Index in dnv_ci_profiles of this GPU instance's profile with this number, or -1. */
int dnv_ci_profile_of(const struct dnv_target *gi, uint32_t number);
