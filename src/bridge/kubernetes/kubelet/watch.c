/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches the inventory after events.  The agent's stream of events is not parsed, only
 * searched for the names of relevant events, because the inventory is fetched as a whole.
 */
#include "bridge/kubernetes/kubelet/watch.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/socket.h"
#include "bridge/kubernetes/kubelet/pods.h"
#include "bridge/kubernetes/kubelet/service.h"
#include "bridge/kubernetes/lease/lease-sync.h"
#include "bridge/kubernetes/resource/inventory.h"

#include <cleave.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define REQUEST "GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define AGAIN_US 1000000
#define ANYWAY_US 60000000
/* The agent may be missing for this time, as in a restart, before all devices are
 * reported as unhealthy. */
#define MISSING_MOST_NS (10 * CLV_NS_PER_S)

static const char *const names[] = {"device_", "apply_", "agent_started"};
#define NAME_MOST 16

struct clv_kube_watch {
	struct clv_kube *kube;
	sd_event_source *timer, *stream;
	int fd;
	char tail[NAME_MOST]; /* the end of the bytes read, where a name may begin */
	size_t n_tail;
	struct refresh *refresh; /* the job that is queued or running, or NULL */
	bool is_stale;           /* something changed since that job was submitted */
	uint64_t seen_ns;        /* when the agent last answered */
};

struct refresh {
	struct clv_kube_job job;
	struct clv_kube_watch *watch;
	bool is_doubtful; /* the agent may have been restarted: there is no event stream
			   */
	struct clv_kube_inventory inventory;
	char socket[CLV_KUBE_SOCKET_MAX];
	int r;
	struct clv_error err;
};

static void run_refresh(struct clv_kube_job *job, struct clv_kube_lease_sync *sync)
{
	struct refresh *refresh = (struct refresh *)job;
	struct clv_client *client = NULL;

	if (refresh->is_doubtful)
		clv_kube_lease_sync_invalidate(sync);

	refresh->r = clv_kube_lease_sync_client(sync, &client, &refresh->err);
	if (refresh->r < 0)
		return;
	snprintf(refresh->socket, sizeof(refresh->socket), "%s",
		clv_client_get_socket(client));
	refresh->r = clv_kube_inventory_fetch(client, &refresh->inventory, &refresh->err);
}

/* --- Events --- */

static void close_stream(struct clv_kube_watch *watch)
{
	watch->stream = sd_event_source_disable_unref(watch->stream);
	clv_close_fd(&watch->fd);
	watch->fd = -1;
	watch->n_tail = 0;
}

static bool has_relevant_event(const char *text, size_t n)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(names); i++) {
		if (memmem(text, n, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

static int on_stream(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_kube_watch *watch = userdata;
	char text[NAME_MOST + 4096];
	ssize_t n;

	memcpy(text, watch->tail, watch->n_tail);
	n = recv(fd, text + watch->n_tail, sizeof(text) - watch->n_tail, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		close_stream(watch);
		clv_kube_watch_refresh(watch);
		return 0;
	}
	n += (ssize_t)watch->n_tail;
	if (has_relevant_event(text, (size_t)n)) {
		watch->n_tail = 0;
		clv_kube_watch_refresh(watch);
		return 0;
	}
	watch->n_tail = n < NAME_MOST - 1 ? (size_t)n : NAME_MOST - 1;
	memcpy(watch->tail, text + n - watch->n_tail, watch->n_tail);
	return 0;
}

/* Sets is_stale, because events before the stream was opened were missed. */
static void open_stream(struct clv_kube_watch *watch, const char *path)
{
	struct clv_error err = {};
	int fd = clv_socket_connect(path, SOCK_STREAM, 0, &err);

	if (fd < 0)
		return;
	watch->fd = fd;
	if (send(fd, REQUEST, strlen(REQUEST), MSG_NOSIGNAL) !=
			(ssize_t)strlen(REQUEST) ||
		sd_event_add_io(watch->kube->event, &watch->stream, fd, EPOLLIN,
			on_stream, watch) < 0)
		close_stream(watch);
	else
		watch->is_stale = true;
}

/* --- Refreshes --- */

static void report_missing(struct clv_kube_watch *watch, const char *why)
{
	struct clv_kube_inventory gone = {};
	const struct clv_kube_inventory *now = &watch->kube->inventory;

	clv_log_warning(0, "the agent does not answer: %s", why);
	gone.items = calloc(now->n + 1, sizeof(*gone.items));
	if (!gone.items)
		return;
	memcpy(gone.items, now->items, now->n * sizeof(*gone.items));
	gone.n = now->n;
	for (size_t i = 0; i < gone.n; i++) {
		gone.items[i].is_healthy = false;
		snprintf(gone.items[i].state, sizeof(gone.items[i].state), "unknown");
		snprintf(gone.items[i].why, sizeof(gone.items[i].why),
			"the agent does not answer");
	}
	clv_kube_set_inventory(watch->kube, &gone);
}

static void set_timer(struct clv_kube_watch *watch, uint64_t us)
{
	sd_event_source_set_time_relative(watch->timer, us);
	sd_event_source_set_enabled(watch->timer, SD_EVENT_ONESHOT);
}

static void use_answer(struct clv_kube_watch *watch, struct refresh *refresh)
{
	bool is_first = !watch->kube->has_inventory;

	if (watch->kube->is_agent_missing)
		clv_log_info("the agent answers again");
	watch->seen_ns = clv_clock_ns();
	watch->kube->is_agent_missing = false;
	clv_kube_set_inventory(watch->kube, &refresh->inventory);
	if (is_first)
		clv_kube_pods_reconcile_now(watch->kube->pods);
	if (watch->fd < 0)
		open_stream(watch, refresh->socket);
}

static void done_refresh(struct clv_kube_job *job)
{
	struct refresh *refresh = (struct refresh *)job;
	struct clv_kube_watch *watch = refresh->watch;

	watch->refresh = NULL;
	if (refresh->r >= 0)
		use_answer(watch, refresh);
	else if (!watch->kube->is_agent_missing &&
		 clv_clock_ns() > watch->seen_ns + MISSING_MOST_NS) {
		watch->kube->is_agent_missing = true;
		report_missing(watch, refresh->err.msg);
	}
	set_timer(watch, refresh->r < 0 ? AGAIN_US : ANYWAY_US);
	/* Return the memory that parsing the answer took. */
	malloc_trim(0);
	clv_kube_inventory_clear(&refresh->inventory);
	free(refresh);
	if (watch->is_stale)
		clv_kube_watch_refresh(watch);
}

void clv_kube_watch_refresh(struct clv_kube_watch *watch)
{
	struct refresh *refresh;

	watch->is_stale = watch->refresh != NULL;
	if (watch->refresh || !watch->kube->worker)
		return;
	refresh = calloc(1, sizeof(*refresh));
	if (!refresh)
		return;
	refresh->job.run = run_refresh;
	refresh->job.done = done_refresh;
	refresh->watch = watch;
	refresh->is_doubtful = watch->fd < 0;
	watch->refresh = refresh;
	clv_kube_worker_submit(watch->kube->worker, &refresh->job);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	clv_kube_watch_refresh(userdata);
	return 0;
}

int clv_kube_watch_new(
	struct clv_kube *kube, struct clv_kube_watch **ret, struct clv_error *err)
{
	struct clv_kube_watch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch)
		return clv_error_errno(err, ENOMEM, "cannot start");
	watch->kube = kube;
	watch->fd = -1;
	watch->seen_ns = clv_clock_ns();
	r = sd_event_add_time_relative(kube->event, &watch->timer, CLOCK_MONOTONIC, 0,
		AGAIN_US / 10, on_timer, watch);
	if (r < 0) {
		clv_kube_watch_free(watch);
		return clv_error_errno(err, -r, "cannot start a timer");
	}
	*ret = watch;
	return 0;
}

struct clv_kube_watch *clv_kube_watch_free(struct clv_kube_watch *watch)
{
	if (!watch)
		return NULL;

	close_stream(watch);
	sd_event_source_disable_unref(watch->timer);
	free(watch);
	return NULL;
}
