/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Starts the gate's own threads, for an API that creates them before its first
 * submission: a program may give up the right to create threads once it has opened its
 * device, and without them what waits for a turn, or for its completion to be noticed,
 * would wait for ever. */

/* Call in an attached process; cheap if they run.  False: they cannot be created; a line
 * on stderr says why, once. */
bool clv_gate_threads_start(void);

/* The same for an API without held commands, which needs the helper only; also in a
 * process that is not attached, which needs none. */
bool clv_gate_helper_is_ready(void);
