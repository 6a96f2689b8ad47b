/* SPDX-License-Identifier: Apache-2.0 */
/* Moves bytes between a socket and an nghttp2 session. */
#include "bridge/rpc/link.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define READ_BYTES 16384
/* Reads of one event, so that a busy peer does not starve other connections. */
#define READS_MAX 16

static int read_input(struct clv_rpc_link *link)
{
	uint8_t bytes[READ_BYTES];

	for (int i = 0; i < READS_MAX; i++) {
		ssize_t n = recv(link->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		ssize_t used;

		if (n == 0)
			return -EPIPE;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		link->is_reading = true;
		used = nghttp2_session_mem_recv(link->session, bytes, (size_t)n);
		link->is_reading = false;
		if (used < 0)
			return -EPROTO;
	}
	return 0;
}

static uint32_t wanted_events(const struct clv_rpc_link *link)
{
	return EPOLLIN | (link->n_pending > 0 && !link->is_broken ? EPOLLOUT : 0);
}

static bool is_over(const struct clv_rpc_link *link)
{
	return link->is_broken ||
	       (link->n_pending == 0 && !nghttp2_session_want_read(link->session) &&
		       !nghttp2_session_want_write(link->session));
}

static int on_event(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_rpc_link *link = userdata;
	int r = 0;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		r = read_input(link);
	/* After a protocol error nghttp2 has a GOAWAY frame to send. */
	if (r >= 0 || r == -EPROTO)
		clv_rpc_link_flush(link);
	if (r < 0 || is_over(link))
		link->on_end(link->userdata);
	return 0;
}

void clv_rpc_link_flush(struct clv_rpc_link *link)
{
	if (link->is_reading || link->is_broken || !link->source)
		return;
	for (;;) {
		ssize_t n;

		if (link->n_pending == 0) {
			n = nghttp2_session_mem_send(link->session, &link->pending);
			if (n <= 0)
				break;
			link->n_pending = (size_t)n;
		}
		n = send(link->fd, link->pending, link->n_pending,
			MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0) {
			/* The event loop reports the socket's error. */
			link->is_broken = errno != EAGAIN && errno != EINTR;
			break;
		}
		link->pending += n;
		link->n_pending -= (size_t)n;
	}
	sd_event_source_set_io_events(link->source, wanted_events(link));
}

int clv_rpc_link_open(struct clv_rpc_link *link, sd_event *event, int fd)
{
	int r;

	link->fd = fd;
	r = sd_event_add_io(event, &link->source, fd, EPOLLIN, on_event, link);
	if (r < 0)
		clv_rpc_link_close(link);
	return r < 0 ? r : 0;
}

void clv_rpc_link_close(struct clv_rpc_link *link)
{
	link->source = sd_event_source_disable_unref(link->source);
	nghttp2_session_del(link->session);
	link->session = NULL;
	clv_close_fd(&link->fd);
	link->fd = -1;
}

nghttp2_nv clv_rpc_header(const char *name, const char *value)
{
	return (nghttp2_nv){
		.name = (uint8_t *)(uintptr_t)name,
		.value = (uint8_t *)(uintptr_t)value,
		.namelen = strlen(name),
		.valuelen = strlen(value),
	};
}

bool clv_rpc_is_header(const uint8_t *name, size_t n_bytes, const char *wanted)
{
	return n_bytes == strlen(wanted) && memcmp(name, wanted, n_bytes) == 0;
}
