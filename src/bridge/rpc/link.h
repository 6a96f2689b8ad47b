/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

/* HTTP/2 over one socket in an event loop: bytes in, bytes out, and word when it is over.
 * Both ends are made of it.  Loop thread only. */
struct clv_rpc_link {
	nghttp2_session *session;
	sd_event_source *source;
	int fd;
	const uint8_t *pending; /* nghttp2's, until it is asked for more */
	size_t n_pending;
	bool is_reading; /* inside nghttp2: what is to be sent goes out afterwards */
	bool is_broken;  /* nothing can be sent any more; what is there is read */
	/* The link is of no more use: the owner is to free it with all that hangs on it.
	 * Never called from inside another of the link's functions, nor of its owner's.
	 */
	void (*on_end)(void *userdata);
	void *userdata;
};

/* session is there; fd is taken, also on failure. */
int clv_rpc_link_open(struct clv_rpc_link *link, sd_event *event, int fd);
/* Accepts one that was never opened. */
void clv_rpc_link_close(struct clv_rpc_link *link);

/* Sends what nghttp2 has, as much as the socket takes. */
void clv_rpc_link_flush(struct clv_rpc_link *link);

/* Headers, for tables of them: both texts live until the call returns. */
nghttp2_nv clv_rpc_header(const char *name, const char *value);
/* Whether a header that arrived has this name. */
bool clv_rpc_is_header(const uint8_t *name, size_t n_bytes, const char *wanted);
