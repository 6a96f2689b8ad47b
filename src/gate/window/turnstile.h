/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The thread that stands in line for commands which the vendor has and the gate still
 * keeps (clv_gate_api.let_go).  It is not the helper: the helper may be waiting for a
 * marker that only comes once such a command has run.  Started at first need at the
 * latest; false: it cannot be, and errno says why. */
bool clv_turnstile_start(void);
void clv_turnstile_wake(void);
