/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/layout/layout.h"

#include <stdbool.h>

/* Whether two layouts are equal, except for the lines of their files. */
bool layout_is_equal(const struct clv_layout *a, const struct clv_layout *b);
