/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

/* An HTTP/2 connection: connects an nghttp2 session to a socket and an event loop.  Used
 * by server and client.  Loop thread only. */
struct clv_rpc_link {
	nghttp2_session *session;
	sd_event_source *source;
	int fd;
	const uint8_t *pending; /* unsent bytes; owned by nghttp2 until its next send */
	size_t n_pending;
	bool is_reading; /* inside nghttp2: flushes are deferred */
	bool is_broken;  /* send() has failed; received bytes are still read */
	/* The connection has ended, and the owner must free or disable the link.  Called
	 * only from the event loop, never from inside a function of the link or its
	 * owner.
	 */
	void (*on_end)(void *userdata);
	void *userdata;
};

/* link->session must be set.  Takes ownership of fd, also on failure. */
int clv_rpc_link_open(struct clv_rpc_link *link, sd_event *event, int fd);
/* Accepts a link that was never opened. */
void clv_rpc_link_close(struct clv_rpc_link *link);

/* Sends nghttp2's output, as much as the socket accepts. */
void clv_rpc_link_flush(struct clv_rpc_link *link);

/* Makes a header for an array; both texts are borrowed until nghttp2 has copied them. */
nghttp2_nv clv_rpc_header(const char *name, const char *value);
/* Whether a received name or value equals the text. */
bool clv_rpc_is_header(const uint8_t *name, size_t n_bytes, const char *wanted);
