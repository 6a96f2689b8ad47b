/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Functions that the program gives the vendor to call back.  Whichever call takes one,
 * the vendor gets a function of the gate's in its place, which runs it between
 * clv_gate_callback_begin and _end: no call in it waits, since the thread that runs it
 * may have locks of the vendor's. */
struct clv_notify {
	void (*function)(void);
	void *userdata;
};

/* For the vendor, in the place of userdata, and good for one call.  NULL: there is no
 * memory. */
void *clv_notify_new(void (*function)(void), void *userdata);

/* The call failed. */
void clv_notify_cancel(void *ticket);

/* In the gate's function.  False: the ticket is not good any more. */
bool clv_notify_begin(const void *ticket, struct clv_notify *ret);
void clv_notify_end(void);
