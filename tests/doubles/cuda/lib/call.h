/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>

/* Whether a call may be made, as a CUresult.  is_own: its default stream is the thread's.
 */
int dcu_call_begin(const char *symbol, bool is_own);
int dcu_call_anytime(const char *symbol);
