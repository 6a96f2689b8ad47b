/* SPDX-License-Identifier: Apache-2.0 */
/* Asks supervisors of other projects without waiting: two that ask each other at the same
 * time would otherwise wait for each other. */
#include "bridge/services/engine/peers.h"

#include "base/cleanup.h"
#include "base/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_WITHIN_MS 100
#define ANSWER_MAX_BYTES (1u << 20)
#define PIECE_BYTES 16384u

struct clv_peer_call {
	char project[CLV_SERVICE_NAME_MAX];
	int fd;
	sd_event_source *source;
	char *text; /* of the answer so far */
	size_t n_bytes;
	void (*on_answer)(void *userdata, struct clv_peer_call *call, json_t *answer);
	void *userdata;
};

void clv_peer_free(struct clv_peer_call *call)
{
	if (!call)
		return;
	sd_event_source_disable_unref(call->source);
	if (call->fd >= 0)
		close(call->fd);
	free(call->text);
	free(call);
}

const char *clv_peer_get_project(const struct clv_peer_call *call)
{
	return call->project;
}

/* Returns whether more may come. */
static bool read_piece(struct clv_peer_call *call)
{
	char *text = realloc(call->text, call->n_bytes + PIECE_BYTES);
	ssize_t n;

	if (!text || call->n_bytes > ANSWER_MAX_BYTES)
		return false;
	call->text = text;
	n = recv(call->fd, text + call->n_bytes, PIECE_BYTES, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	call->n_bytes += (size_t)n;
	return n > 0;
}

/* The other side closes the connection after its answer. */
static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_peer_call *call = userdata;
	json_t *answer;

	if (read_piece(call))
		return 0;
	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	answer = call->text ? json_loadb(call->text, call->n_bytes, 0, NULL) : NULL;
	call->on_answer(call->userdata, call, answer);
	json_decref(answer);
	return 0;
}

/* Sends at once: the socket of a supervisor has room for a request. */
static int send_request(int fd, const json_t *request)
{
	_cleanup_free_ char *text = json_dumps(request, JSON_COMPACT);

	if (!text || send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -EIO;
	return 0;
}

struct clv_peer_call *clv_peer_ask(sd_event *event, const struct clv_project *project,
	const json_t *request,
	void (*on_answer)(void *userdata, struct clv_peer_call *call, json_t *answer),
	void *userdata)
{
	struct clv_peer_call *call = calloc(1, sizeof(*call));
	char path[CLV_PATH_MAX];

	if (!call)
		return NULL;
	call->on_answer = on_answer;
	call->userdata = userdata;
	strcpy(call->project, project->name);
	clv_project_path(project, "control.sock", path);
	call->fd = clv_socket_connect(path, SOCK_STREAM, CONNECT_WITHIN_MS, NULL);
	if (call->fd < 0 || send_request(call->fd, request) < 0 ||
		sd_event_add_io(
			event, &call->source, call->fd, EPOLLIN, on_readable, call) < 0) {
		clv_peer_free(call);
		return NULL;
	}
	return call;
}
