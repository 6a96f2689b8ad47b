/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The thread that waits in line for held commands, which the vendor has and the gate has
 * not released yet (clv_gate_api.let_go).  It is not the helper, which may be waiting for
 * a marker that completes only after such a command.  Started at first need at the
 * latest.  False: it cannot be started; errno says why. */
bool clv_turnstile_start(void);
void clv_turnstile_wake(void);
