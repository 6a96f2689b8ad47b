/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Tickets: what a vendor gets as the user data of a gate's callback, instead of a
 * pointer.  A ticket is valid for one call, so a vendor that calls back twice, or after
 * it returned an error, gets NULL and not a pointer to memory that has been reused.  Any
 * thread. */

/* Creates a ticket for a heap object; NULL: no memory. */
void *clv_ticket_new(void *what);

/* Redeems a ticket: returns its object, which the caller then owns; NULL: the ticket is
 * not valid any more. */
void *clv_ticket_take(const void *ticket);

void clv_tickets_forget_parent(void);
