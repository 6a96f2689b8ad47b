/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/opencl/dispatch/notify.h"

#include "gate/process/state.h"
#include "gate/process/tickets.h"

#include <stdlib.h>

void *clv_notify_new(void (*function)(void), void *userdata)
{
	struct clv_notify *notify = malloc(sizeof(*notify));
	void *ticket;

	if (!notify)
		return NULL;
	*notify = (struct clv_notify){function, userdata};
	ticket = clv_ticket_new(notify);
	if (!ticket)
		free(notify);
	return ticket;
}

void clv_notify_cancel(void *ticket)
{
	free(clv_ticket_take(ticket));
}

bool clv_notify_begin(const void *ticket, struct clv_notify *ret)
{
	struct clv_notify *notify = clv_ticket_take(ticket);

	if (!notify)
		return false;
	*ret = *notify;
	free(notify);
	clv_gate_callback_begin();
	return true;
}

void clv_notify_end(void)
{
	clv_gate_callback_end();
}
