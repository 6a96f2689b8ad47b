/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Events that other processes may record.  A stream that waits for one waits for
 * something outside the process.  Any thread. */

bool clv_shared_event_is(const void *event);
void clv_shared_event_note(const void *event);
/* To be called before the event is destroyed: its handle may be reused at once. */
void clv_shared_event_forget(const void *event);

/* In a forked child: no thread has the lock. */
void clv_shared_events_forget_parent(void);
