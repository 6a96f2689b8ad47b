/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* The gate's own threads. */

/* Starts a detached thread with all signals blocked.  False: it could not be created;
 * errno says why. */
bool clv_helper_spawn(void *(*function)(void *));

/* The helper thread (gate/window/helper.h): started at the first submission or allocation
 * at the latest, woken when a marker was placed.  False: as above. */
bool clv_helper_start(void);
void clv_helper_wake(void);
