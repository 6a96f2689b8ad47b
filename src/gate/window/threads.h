/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The gate's own threads, for an API that makes them before its first submission: a
 * program may give up the right to make threads once it has opened its device, and what
 * waits for a turn, or for its end to be told, would wait for ever without them. */

/* False: they cannot be made; a line on stderr says why, once.  An attached process.
 * Cheap when they are there. */
bool clv_threads_start(void);
