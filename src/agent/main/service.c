/* SPDX-License-Identifier: Apache-2.0 */
/* The service manager's side: sockets, readiness, status and the journal.  The status is
 * sent at most once a second and only after a change, so that an idle agent is not woken.
 */
#include "agent/main/service.h"

#include "agent/device/devices.h"
#include "agent/http/http.h"
#include "agent/ledger/ledger.h"
#include "agent/os/poll.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

#define API_NAME "api"
#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define STATUS_PAUSE_US 1000000u
#define FULL_WAIT_MS 20
#define FULL_PAUSE_NS CLV_NS_PER_S
#define MAX_FIELDS 8
#define FIELD_BYTES 1200

struct clv_service {
	struct clv_agent *agent;
	sd_event_source *timer;
};

/* The journal. */

/* sd_journal_sendv() waits while the journal's queue is full: a journal that hangs would
 * keep the agent's loop.  So the queue is asked first, through a socket of the agent's
 * own that has the same peer. */
static struct {
	bool is_used;
	int fd; /* from clv_service_new() on: files opened before are closed */
	uint64_t full_until_ns; /* it was full: until then no line waits for it */
	unsigned int n_lost;
} journal = {.fd = -1};

static int connect_journal(void)
{
	const struct sockaddr_un address = {AF_UNIX, JOURNAL_SOCKET};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool journal_has_room(void)
{
	struct pollfd queue = {.fd = journal.fd, .events = POLLOUT};
	uint64_t now_ns = clv_clock_ns();
	int wait_ms = now_ns < journal.full_until_ns ? 0 : FULL_WAIT_MS;

	if (journal.fd < 0 || clv_poll(&queue, wait_ms) != 0)
		return true;
	if (wait_ms > 0)
		journal.full_until_ns = clv_clock_ns() + FULL_PAUSE_NS;
	journal.n_lost++;
	return false;
}

static void report_lost(void)
{
	unsigned int n_lost = journal.n_lost;

	journal.n_lost = 0;
	if (n_lost > 0)
		(void)sd_journal_print(LOG_WARNING,
			"%u lines were lost: the journal did not take them", n_lost);
}

static void to_journal(
	int level, const char *line, const struct clv_log_field *fields, size_t n_fields)
{
	char texts[MAX_FIELDS + 2][FIELD_BYTES];
	struct iovec parts[MAX_FIELDS + 2];
	size_t n = 0;

	snprintf(texts[n++], FIELD_BYTES, "MESSAGE=%s", line);
	snprintf(texts[n++], FIELD_BYTES, "PRIORITY=%d", level);
	for (size_t i = 0; i < n_fields && i < MAX_FIELDS; i++) {
		if (fields[i].value[0] != '\0')
			snprintf(texts[n++], FIELD_BYTES, "%s=%s", fields[i].name,
				fields[i].value);
	}
	for (size_t i = 0; i < n; i++)
		parts[i] = (struct iovec){texts[i], strlen(texts[i])};
	if (!journal_has_room())
		return;
	report_lost();
	(void)sd_journal_sendv(parts, (int)n);
}

/* Sockets. */

static bool is_api(int fd, const char *name)
{
	return strcmp(name, API_NAME) == 0 &&
	       sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) > 0;
}

static void take_sockets(struct clv_agent_config *config)
{
	char **names = NULL;
	int n = sd_listen_fds_with_names(true, &names);

	for (int i = 0; i < n; i++) {
		int fd = SD_LISTEN_FDS_START + i;

		if (config->api_fd == 0 && is_api(fd, names[i])) {
			fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
			config->api_fd = fd;
		} else {
			clv_log_warning(0,
				"the socket %.40s from the service manager is ignored: "
				"only a stream socket named " API_NAME " is used",
				names[i]);
		}
		free(names[i]);
	}
	free(names);
}

void clv_service_prepare(struct clv_agent_config *config)
{
	static const char *const variables[] = {"NOTIFY_SOCKET", "WATCHDOG_PID",
		"WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(variables) && !config->is_foreground; i++)
		unsetenv(variables[i]);
	if (clv_log_is_journal() && access(JOURNAL_SOCKET, W_OK) == 0) {
		clv_log_set_sink(to_journal);
		journal.is_used = true;
	}
	take_sockets(config);
}

int clv_service_take_socket(const struct clv_agent_config *config)
{
	return config->api_fd > 0 ? config->api_fd : -1;
}

bool clv_service_keeps_socket(const struct clv_agent_config *config)
{
	return config->api_fd > 0 || config->api_is_stored;
}

/* Without a socket unit: passes the socket to the manager's fd store, so that callers
 * wait while the service restarts and are not refused.  The manager ignores it unless the
 * unit has FileDescriptorStoreMax=. */
static void store_socket(struct clv_agent *agent)
{
	int fd = clv_http_listen_fd(agent->http);

	if (agent->config.api_fd > 0 || !getenv("NOTIFY_SOCKET"))
		return;
	if (sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=" API_NAME, &fd, 1) > 0)
		agent->config.api_is_stored = true;
}

/* Status. */

static void send_status(struct clv_agent *agent, const char *prefix)
{
	size_t n_devices = 0, n_leases = 0, n_queued = 0, n_processes = 0;
	const struct clv_attached *process;
	const struct clv_lease *lease;

	for (size_t i = 0; i < clv_devices_count(agent->devices); i++)
		n_devices += clv_devices_at(agent->devices, i)->is_present;
	TAILQ_FOREACH(lease, clv_ledger_leases(agent->ledger), entry)
	{
		n_leases += !lease->record.is_queued;
		n_queued += lease->record.is_queued;
		TAILQ_FOREACH(process, &lease->processes, entry)
		n_processes++;
	}
	sd_notifyf(0,
		"%sSTATUS=Devices: %zu. Leases: %zu, and %zu queued. Processes: %zu.",
		prefix, n_devices, n_leases, n_queued, n_processes);
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_service *service = userdata;

	send_status(service->agent, "");
	return 0;
}

int clv_service_new(
	struct clv_agent *agent, struct clv_service **ret, struct clv_error *err)
{
	struct clv_service *service;
	int r;

	*ret = NULL;
	if (journal.is_used)
		journal.fd = connect_journal();
	if (!getenv("NOTIFY_SOCKET"))
		return 0;
	service = calloc(1, sizeof(*service));
	if (!service)
		return clv_error_errno(err, ENOMEM, "cannot notify the service manager");
	service->agent = agent;
	r = sd_event_add_time(agent->event, &service->timer, CLOCK_MONOTONIC, UINT64_MAX,
		0, on_timer, service);
	if (r >= 0)
		r = sd_event_source_set_enabled(service->timer, SD_EVENT_OFF);
	if (r < 0) {
		sd_event_source_disable_unref(service->timer);
		free(service);
		return clv_error_errno(err, -r, "cannot notify the service manager");
	}
	*ret = service;
	return 0;
}

struct clv_service *clv_service_free(struct clv_service *service)
{
	if (!service)
		return NULL;
	sd_event_source_disable_unref(service->timer);
	free(service);
	return NULL;
}

void clv_service_ready(struct clv_agent *agent)
{
	store_socket(agent);
	send_status(agent, "READY=1\n");
}

void clv_service_changed(struct clv_agent *agent)
{
	int enabled;

	/* A pending status will include this change. */
	if (!agent->service ||
		sd_event_source_get_enabled(agent->service->timer, &enabled) < 0 ||
		enabled != SD_EVENT_OFF)
		return;
	sd_event_source_set_time_relative(agent->service->timer, STATUS_PAUSE_US);
	sd_event_source_set_enabled(agent->service->timer, SD_EVENT_ONESHOT);
}

void clv_service_stopping(void)
{
	sd_notify(0, "STOPPING=1\nSTATUS=Stopping; programs keep running.");
}
