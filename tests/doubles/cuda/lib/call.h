/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>

/* Returns whether a call is allowed, as a CUresult. is_own: its default stream is the
 * per-thread one. */
int dcu_call_begin(const char *symbol, bool is_own);
int dcu_call_anytime(const char *symbol);
