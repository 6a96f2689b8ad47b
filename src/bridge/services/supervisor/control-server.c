/* SPDX-License-Identifier: Apache-2.0 */
/* The answering side of control.sock. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The names of as many leases as give way at once. */
#define REQUEST_MAX_BYTES 32768
#define PATIENCE_MS 1000

/* --- Requests --- */

static json_t *refuse_at_end(const struct clv_supervisor *supervisor)
{
	return clv_supervisor_refuse("%s is being ended", supervisor->project.name);
}

json_t *clv_supervisor_scale(struct clv_supervisor *supervisor, const json_t *request)
{
	const char *name = json_string_value(json_object_get(request, "service"));
	const char *by = json_string_value(json_object_get(request, "by"));
	json_int_t n = json_integer_value(json_object_get(request, "replicas"));
	struct clv_unit *unit = clv_supervisor_find(supervisor, name ? name : "");

	if (supervisor->is_ending)
		return refuse_at_end(supervisor);
	if (!unit || unit->is_removed)
		return clv_supervisor_refuse("there is no service '%.60s' in %s",
			name ? name : "", supervisor->project.name);
	if (n < 0 || n > unit->scaling.max_replicas)
		return clv_supervisor_refuse(
			"%s can have 0 to %u replicas: set %s to have more", name,
			unit->scaling.max_replicas,
			unit->service->autoscaling.yaml ? "maxReplicas"
							: "deploy.replicas");
	unit->backoff = (struct clv_backoff){0};
	clv_unit_set(unit, (uint32_t)n, clv_clock_ns());
	clv_supervisor_say(supervisor, unit, "scaled", "to %d, by %s", (int)n,
		by ? by : "cleave scale");
	clv_supervisor_hurry(supervisor);
	return json_object();
}

static json_t *reload(struct clv_supervisor *supervisor, const json_t *request)
{
	struct clv_error err;

	if (supervisor->is_ending)
		return refuse_at_end(supervisor);
	if (clv_supervisor_reload(supervisor, &err) < 0)
		return clv_supervisor_refuse("%s", err.msg);
	return json_object();
}

static json_t *go_down(struct clv_supervisor *supervisor, const json_t *request)
{
	struct clv_error err;

	if (!supervisor->is_ending)
		clv_supervisor_say(supervisor, NULL, "down", "by cleave down");
	supervisor->is_ending = true;
	/* The next supervisor goes on with it. */
	if (clv_supervisor_keep(supervisor, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	clv_supervisor_hurry(supervisor);
	return json_object();
}

static json_t *status(struct clv_supervisor *supervisor, const json_t *request)
{
	json_int_t after = json_integer_value(json_object_get(request, "after"));
	json_t *made = clv_supervisor_show(supervisor);

	json_object_set_new(made, "events",
		clv_supervisor_events(supervisor, after > 0 ? (uint64_t)after : 0));
	return made;
}

/* One that waited for a supervisor which did not go on for a time has left. */
static bool has_left(int client)
{
	struct pollfd look = {.fd = client, .events = POLLRDHUP};

	return poll(&look, 1, 0) == 1 && (look.revents & (POLLRDHUP | POLLHUP));
}

static json_t *answer(struct clv_supervisor *supervisor, const char *text, int client)
{
	static const struct {
		const char *name;
		json_t *(*act)(struct clv_supervisor *supervisor, const json_t *request);
		bool is_for_asker; /* who has asked others since if it has left */
	} acts[] = {
		{"status", status},
		{"reload", reload},
		{"scale", clv_supervisor_scale},
		{"move", clv_supervisor_move},
		{"give way", clv_supervisor_give_way, true},
		{"down", go_down},
	};
	json_t *request = json_loads(text, 0, NULL), *made = NULL;
	const char *what = json_string_value(json_object_get(request, "do"));

	for (size_t i = 0; i < CLV_ARRAY_SIZE(acts) && what && !made; i++) {
		if (strcmp(acts[i].name, what) == 0 &&
			!(acts[i].is_for_asker && has_left(client)))
			made = acts[i].act(supervisor, request);
	}
	json_decref(request);
	return made ? made
		    : clv_supervisor_refuse("the supervisor does not know this request");
}

/* --- Connections --- */

static void write_all(int fd, const char *text)
{
	size_t n = strlen(text);

	while (n > 0) {
		struct pollfd wait = {.fd = fd, .events = POLLOUT};
		ssize_t written;

		if (poll(&wait, 1, PATIENCE_MS) != 1)
			return;
		written = send(fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (written <= 0)
			return;
		text += written;
		n -= (size_t)written;
	}
}

/* Requests are one line, written at once by a client of the same user: a client that does
 * not is left. */
static int on_connection(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_supervisor *supervisor = userdata;
	_cleanup_close_ int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	struct pollfd wait = {.fd = client, .events = POLLIN};
	char request[REQUEST_MAX_BYTES];
	_cleanup_free_ char *text = NULL;
	json_t *made;
	ssize_t n;

	if (client < 0 || poll(&wait, 1, PATIENCE_MS) != 1)
		return 0;
	n = recv(client, request, sizeof(request) - 1, 0);
	if (n <= 0)
		return 0;
	request[n] = '\0';
	made = answer(supervisor, request, client);
	text = json_dumps(made, JSON_COMPACT);
	json_decref(made);
	if (text)
		write_all(client, text);
	return 0;
}

int clv_supervisor_listen(struct clv_supervisor *supervisor, struct clv_error *err)
{
	char path[CLV_PATH_MAX];
	int r;

	clv_project_path(&supervisor->project, "control.sock", path);
	supervisor->control_fd = clv_socket_listen(path, SOCK_STREAM, 0600, err);
	if (supervisor->control_fd < 0)
		return supervisor->control_fd;
	r = sd_event_add_io(supervisor->event, NULL, supervisor->control_fd, POLLIN,
		on_connection, supervisor);
	return r < 0 ? clv_error_errno(err, -r, "cannot listen on %s", path) : 0;
}
