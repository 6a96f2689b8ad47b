/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/view.h"

/* The attach handshake with the agent (arbiter/attach.h). */

enum clv_attachment {
	CLV_ATTACHED,
	CLV_UNGATED, /* allowed to run without a lease */
	CLV_REFUSED, /* the process must see no device */
};

/* Connects, sends the hello (with the old view's report page, if any) and maps the pages.
 * quiet: a failure prints no line on stderr. */
enum clv_attachment clv_attach(
	uint32_t api, const struct clv_view *old, bool quiet, struct clv_view **ret);

/* Prints the line on stderr for a program that gets no device.  remedy may be NULL. */
void clv_attach_report_refused(const char *why, const char *remedy);

/* Whether the view's doorbell and report page descriptors are still open and
 * unchanged. */
bool clv_attach_is_intact(const struct clv_view *view);

/* Closes the descriptors that are; the pages stay mapped. */
void clv_attach_close(const struct clv_view *view);

/* Rings the arbiter's doorbell.  False: the descriptor is no longer the gate's, or the
 * agent is gone. */
bool clv_attach_ring(const struct clv_view *view);

/* Sends a message of arbiter/attach.h, with a file or without.  Never blocks: false if
 * the socket has no room because the agent does not read, or if it is closed. */
bool clv_attach_tell(
	const struct clv_view *view, const void *message, size_t n_bytes, const int *fd);

/* Waits until the socket has room for another message, or until the timeout. */
void clv_attach_wait_for_room(const struct clv_view *view, int timeout_ms);
