/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a vendor is given with a callback of the gate's, in the place of a pointer: a
 * ticket, good for one call.  A vendor that calls back twice, or after it refused, gets
 * nothing for it, where a pointer would be to memory that is another's by then.  Any
 * thread. */

/* For something of the heap; NULL: there is no memory. */
void *clv_ticket_new(void *what);

/* What it was for, which is the caller's; NULL: it is not good any more. */
void *clv_ticket_take(const void *ticket);

void clv_tickets_forget_parent(void);
