/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/process/view.h"

/* Attaching to the lease. */

enum clv_attachment {
	CLV_ATTACHED,
	CLV_UNGATED, /* allowed to run without */
	CLV_REFUSED, /* must see no device */
};

/* Connects, sends the hello (with the old view's report page, if any) and maps the pages.
 * quiet: no line on stderr when it fails. */
enum clv_attachment clv_attach(
	uint32_t api, const struct clv_view *old, bool quiet, struct clv_view **ret);

/* The line for a program that gets no device. */
void clv_attach_say(const char *why, const char *remedy);

/* Whether the view's descriptors are still ours. */
bool clv_attach_is_intact(const struct clv_view *view);

/* Closes those that are; the pages stay mapped. */
void clv_attach_close(const struct clv_view *view);

/* Rings the arbiter's doorbell.  False if the descriptor is no longer ours. */
bool clv_attach_ring(const struct clv_view *view);

/* Sends a message of arbiter/attach.h, with a file or without.  An agent that does not
 * read must not hold up the program: then it is not told, and this is false. */
bool clv_attach_tell(
	const struct clv_view *view, const void *message, size_t n_bytes, const int *fd);

/* Waits until there is room for another, or for so long. */
void clv_attach_wait_for_room(const struct clv_view *view, int timeout_ms);
