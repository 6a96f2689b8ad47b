/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Callbacks of the program.  Whichever call takes one, the driver gets a function of the
 * gate's instead, which calls the program's between clv_gate_callback_begin and _end: no
 * call in a callback waits, because the thread that runs it may hold locks of the driver.
 */
struct clv_notify {
	void (*function)(void);
	void *userdata;
};

/* To be passed to the driver as userdata, for one callback.  NULL: there is no memory. */
void *clv_notify_new(void (*function)(void), void *userdata);

/* The driver's call failed: there will be no callback. */
void clv_notify_cancel(void *ticket);

/* At the beginning of the gate's function.  False: the ticket is no longer valid. */
bool clv_notify_begin(const void *ticket, struct clv_notify *ret);
void clv_notify_end(void);
