/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Threads of the gate's own. */

/* A detached thread with all signals blocked.  False: there is none, and errno says why.
 */
bool clv_helper_spawn(void *(*function)(void *));

/* The helper thread (helper.h): started at the first submission or allocation at the
 * latest, woken when a marker was placed.  False: as above. */
bool clv_helper_start(void);
void clv_helper_wake(void);
