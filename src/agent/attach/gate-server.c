/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the attach protocol on a lease's socket: decides which processes may attach, and
 * sends them the lease's pages.  A peer may send anything or nothing: it gets a timeout
 * or a refusal with one line of text, and can use up no table but its own lease's.  The
 * process's entry outlives its connection: see attached.c. */
#include "agent/attach/gate-server.h"

#include "agent/attach/hello.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/event/events.h"
#include "agent/lease/attached.h"
#include "agent/lease/executor.h"
#include "agent/lease/holder.h"
#include "agent/lease/lease-arbiter.h"
#include "agent/lease/lease.h"
#include "agent/lease/orphaned-memory.h"
#include "agent/lease/sm.h"
#include "agent/os/fd-filter.h"
#include "agent/os/poll.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "arbiter/arbiter.h"
#include "arbiter/attach.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define HELLO_TIMEOUT_US 2000000u
/* Less than the 30 s for which a gate waits for its reply (gate/attach), so that it gets
 * the refusal. */
#define PARK_TIMEOUT_US 25000000u
#define PAUSE_US 200000u   /* before accepting again after a lack of descriptors */
#define MAX_UNATTACHED 64u /* connections that have not attached */
#define REST_MAX 4096      /* messages of a process that has ended */
#define REFUSAL_EVENT_NS CLV_NS_PER_S

struct connection {
	TAILQ_ENTRY(connection) entry;
	struct clv_gate_server *server;
	int fd;
	sd_event_source *io, *timer;
	struct clv_attached *process; /* NULL until attached */
	uint32_t api;                 /* enum clv_attach_api */
	/* The longest reply that the gate can read; 0: CLV_ATTACH_REPLY_FIRST_BYTES. */
	uint32_t reply_bytes;
	/* The hello waits until the adopted lease is settled or the device numbers are
	 * known. */
	bool is_parked;
	uint32_t old_slot;
};

struct clv_gate_server {
	struct clv_lease *lease;
	int listen_fd;
	sd_event_source *io, *pause_timer;
	TAILQ_HEAD(, connection) connections;
	unsigned int n_unattached;
};

/* Accepts connections again unless too many have not attached. */
static void resume_accepting(struct clv_gate_server *server)
{
	if (server->n_unattached < MAX_UNATTACHED && !server->pause_timer)
		sd_event_source_set_enabled(server->io, SD_EVENT_ON);
}

static struct connection *connection_free(struct connection *connection)
{
	struct clv_gate_server *server = connection->server;

	TAILQ_REMOVE(&server->connections, connection, entry);
	if (!connection->process)
		server->n_unattached--;
	sd_event_source_disable_unref(connection->io);
	sd_event_source_disable_unref(connection->timer);
	clv_fd_filter_close(server->lease->record.tenant, connection->fd);
	free(connection);
	resume_accepting(server);
	return NULL;
}

static void refuse(struct connection *connection, const struct clv_peer *peer,
	const struct clv_error *err)
{
	struct clv_lease *lease = connection->server->lease;
	struct clv_attach_reply reply = {
		.magic = CLV_ATTACH_MAGIC,
		.version = CLV_ATTACH_VERSION,
		.status = err->code,
		.slot = CLV_ATTACH_NO_SLOT,
	};
	uint64_t now_ns = clv_clock_ns();

	snprintf(reply.message, sizeof(reply.message), "%.255s", err->msg);
	clv_socket_send(connection->fd, &reply, CLV_ATTACH_REPLY_FIRST_BYTES, NULL, 0);
	/* Rate-limited: a tenant that is refused in a loop must not fill the event
	 * log. */
	if (lease->refusal_event_ns == 0 ||
		now_ns - lease->refusal_event_ns > REFUSAL_EVENT_NS) {
		lease->refusal_event_ns = now_ns;
		clv_lease_emit(lease, CLV_EVENT_PROCESS_REFUSED,
			"process %d was refused: %.180s", peer ? (int)peer->id.pid : 0,
			err->msg);
	}
	connection_free(connection);
}

static bool is_of_lease(void *userdata, const struct clv_process_id *id)
{
	const struct clv_lease *lease = userdata;

	return clv_holder_contains(lease, id) || clv_attached_is_member(lease, id);
}

static int check_peer(
	struct clv_lease *lease, const struct clv_peer *peer, struct clv_error *err)
{
	if (lease->is_ending)
		return clv_error_set(err, -EPERM,
			"the lease %s is being ended: start the program again with "
			"cleave run",
			lease->record.name);
	/* Access is controlled by the folder: only processes for which the socket is
	 * mounted reach it. */
	if (lease->record.admit == CLV_ADMIT_SOCKET)
		return 0;
	if (peer->uid != lease->record.uid && peer->uid != 0)
		return clv_error_set(err, -EPERM,
			"the lease %s belongs to user %u, not to user %u: start the "
			"program in a lease of your own with cleave run",
			lease->record.name, lease->record.uid, peer->uid);
	if (!clv_process_has_ancestor(peer->id.pid, is_of_lease, lease))
		return clv_error_set(err, -EPERM,
			"process %d was not started inside the lease %s: start it with "
			"cleave run",
			(int)peer->id.pid, lease->record.name);
	return 0;
}

/* The device's name for the gate's API. ROCm may identify partitions of a GPU only by
 * their numbers. */
static const char *name_for(
	const struct connection *connection, const struct clv_device *device)
{
	return connection->api == CLV_ATTACH_API_HIP && device->visible[0]
		       ? device->visible
		       : device->uuid;
}

/* Fills in the device as the gate's API identifies it. */
static void locate(const struct connection *connection, struct clv_attach_reply *reply)
{
	const struct clv_lease *lease = connection->server->lease;
	const struct clv_device *info = &lease->device->info;
	const struct clv_device_locator *locator = &info->locator;

	static_assert(sizeof(reply->platform) == sizeof(locator->platform), "as it is");
	static_assert(sizeof(reply->model) == sizeof(locator->model), "as it is");
	if (connection->api == CLV_ATTACH_API_OPENCL) {
		reply->ordinal = locator->ordinal;
		memcpy(reply->platform, locator->platform, sizeof(reply->platform));
		memcpy(reply->model, locator->model, sizeof(reply->model));
	} else if (!clv_lease_device(lease, 1)) {
		snprintf(reply->model, sizeof(reply->model), "%s",
			name_for(connection, info));
	}
}

static void list_devices(
	const struct connection *connection, char ret[CLV_ATTACH_DEVICES_BYTES])
{
	const struct clv_lease *lease = connection->server->lease;
	const struct clv_agent_device *device;
	size_t used = 0;

	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++) {
		size_t room = CLV_ATTACH_DEVICES_BYTES - used;
		int n = snprintf(ret + used, room, "%s%s", i > 0 ? "," : "",
			name_for(connection, &device->info));

		/* A truncated name could be that of another device: drop it. */
		if (n < 0 || (size_t)n >= room) {
			ret[used] = '\0';
			return;
		}
		used += (size_t)n;
	}
}

static size_t reply_length(const struct connection *connection)
{
	return connection->reply_bytes >= sizeof(struct clv_attach_reply)
		       ? sizeof(struct clv_attach_reply)
		       : CLV_ATTACH_REPLY_FIRST_BYTES;
}

static int send_reply(struct connection *connection, const struct clv_attached *process)
{
	const struct clv_lease *lease = connection->server->lease;
	struct clv_attach_reply reply = {
		.magic = CLV_ATTACH_MAGIC,
		.version = CLV_ATTACH_VERSION,
		.slot = process->record.slot,
		.pid = (uint32_t)process->record.id.pid,
	};
	struct clv_arbiter_fds pages;
	int fds[CLV_ATTACH_FDS];

	locate(connection, &reply);
	list_devices(connection, reply.devices);
	clv_arbiter_publish_time(lease->device->arbiter, lease->arbiter_lease);
	clv_arbiter_get_fds(lease->arbiter_lease, &pages);
	fds[CLV_ATTACH_FD_CONTROL] = pages.control;
	fds[CLV_ATTACH_FD_REPORT] = pages.report;
	fds[CLV_ATTACH_FD_DOORBELL] = pages.doorbell;
	return clv_socket_send(
		connection->fd, &reply, reply_length(connection), fds, CLV_ATTACH_FDS);
}

static const struct clv_attach_sm_state opencl_sm_state = {
	.state = CLV_ATTACH_SM_OTHER_API};

static struct connection *find_connection(
	struct clv_gate_server *server, const struct clv_attached *process)
{
	struct connection *connection;

	TAILQ_FOREACH(connection, &server->connections, entry)
	{
		if (connection->process == process)
			return connection;
	}
	return NULL;
}

static void disconnect(struct clv_attached *process)
{
	struct clv_gate_server *server = process->lease->gate;
	struct connection *connection = server ? find_connection(server, process) : NULL;

	if (connection)
		connection_free(connection);
}

static bool on_message(struct connection *connection);

static void read_rest(struct clv_attached *process)
{
	struct clv_gate_server *server = process->lease->gate;
	struct connection *connection = server ? find_connection(server, process) : NULL;
	struct pollfd input = {.fd = connection ? connection->fd : -1, .events = POLLIN};

	for (int i = 0; i < REST_MAX && clv_poll(&input, 0) > 0; i++) {
		if (!on_message(connection))
			return;
	}
}

/* Attaches the peer or refuses it, which frees the connection. */
static void attach(struct connection *connection, uint32_t old_slot, int report_fd)
{
	struct clv_gate_server *server = connection->server;
	struct clv_lease *lease = server->lease;
	struct clv_attached *process;
	struct clv_error err = {0};
	struct clv_peer peer;
	int pidfd, r;

	r = clv_process_of_socket(connection->fd, &peer, &pidfd, &err);
	if (r < 0) {
		refuse(connection, NULL, &err);
		return;
	}
	r = check_peer(lease, &peer, &err);
	if (r >= 0)
		r = clv_lease_open_arbiter(lease, &peer.id, report_fd, &err);
	if (r < 0)
		close(pidfd);
	else
		r = clv_attached_attach(lease, &peer, pidfd, old_slot, &process, &err);
	if (r < 0) {
		refuse(connection, &peer, &err);
		return;
	}

	connection->timer = sd_event_source_disable_unref(connection->timer);
	connection->process = process;
	process->disconnect = disconnect;
	process->read_rest = read_rest;
	server->n_unattached--;
	resume_accepting(server);
	sd_event_source_set_io_events(connection->io, EPOLLIN | EPOLLRDHUP);
	if (connection->api == CLV_ATTACH_API_OPENCL)
		clv_sm_record_state(process, &opencl_sm_state);
	clv_notify(lease->agent->notify, CLV_NOTICE_COMPUTES);
	if (send_reply(connection, process) < 0) {
		connection_free(connection);
		clv_attached_disconnected(process);
	}
}

static bool waits_for_numbers(const struct connection *connection)
{
	const struct clv_lease *lease = connection->server->lease;

	return connection->api == CLV_ATTACH_API_HIP &&
	       clv_hardware_is_renumbering_device(lease->agent, lease->device);
}

static void park(struct connection *connection, uint32_t old_slot)
{
	connection->is_parked = true;
	connection->old_slot = old_slot;
	sd_event_source_set_io_events(connection->io, EPOLLRDHUP);
	sd_event_source_set_time_relative(connection->timer, PARK_TIMEOUT_US);
	sd_event_source_set_enabled(connection->timer, SD_EVENT_ONESHOT);
}

static ssize_t receive(const struct connection *connection, void *data, size_t room_bytes,
	int *ret_fd, size_t *ret_n_fds)
{
	struct clv_lease *lease = connection->server->lease;

	return clv_fd_filter_receive(&lease->fd_filter, lease->record.tenant,
		connection->fd, data, room_bytes, ret_fd, ret_n_fds);
}

static void on_hello(struct connection *connection)
{
	struct clv_gate_server *server = connection->server;
	struct clv_attach_hello hello;
	struct clv_error err = {0};
	char message[256];
	int report_fd = -1;
	size_t n_fds;
	ssize_t got;

	got = receive(connection, message, sizeof(message), &report_fd, &n_fds);
	if (got == -EAGAIN)
		return;
	if (got == 0 || (got < 0 && got != -EMSGSIZE)) {
		connection_free(connection);
		goto done;
	}
	if (got == -EMSGSIZE)
		got = sizeof(message);
	if (clv_attach_hello_check(message, (size_t)got, &err) < 0) {
		refuse(connection, NULL, &err);
		goto done;
	}
	memcpy(&hello, message, sizeof(hello));
	connection->api = hello.api;
	connection->reply_bytes = hello.reply_bytes;
	/* In an adopted lease another process may still bring the report page, so one
	 * without it waits. */
	if (n_fds == 0 &&
		(server->lease->settle_timer || waits_for_numbers(connection))) {
		park(connection, hello.old_slot);
		goto done;
	}
	attach(connection, hello.old_slot, report_fd);
	if (server->lease->settle_timer && server->lease->arbiter_lease)
		clv_gate_server_resume(server);
done:
	clv_close_fd(&report_fd);
}

static void note_object(
	struct connection *connection, int fd, const struct clv_attach_object *message)
{
	struct clv_rm_object object = {.client = message->client,
		.parent = message->parent,
		.handle = message->handle,
		.class = message->class};

	clv_executor_record_object(connection->process, fd, &object, message->as_of);
}

/* The message has as many tids as it says. */
static bool is_threads_message(const struct clv_attach_threads *message, ssize_t n_bytes)
{
	size_t first = offsetof(struct clv_attach_threads, tids);

	return n_bytes >= (ssize_t)first && message->magic == CLV_ATTACH_THREADS_MAGIC &&
	       message->n <= CLV_ATTACH_THREADS_MAX &&
	       (size_t)n_bytes == first + message->n * sizeof(message->tids[0]);
}

/* Returns false when the connection has ended. */
static bool on_message(struct connection *connection)
{
	union {
		uint32_t magic;
		struct clv_attach_object object;
		struct clv_attach_sm_state sm;
		struct clv_attach_threads threads;
		struct clv_attach_exports exports;
	} message;
	size_t n_fds;
	int fd = -1;
	ssize_t got = receive(connection, &message, sizeof(message), &fd, &n_fds);

	if (got == sizeof(message.object) && message.magic == CLV_ATTACH_MAGIC)
		note_object(connection, fd, &message.object);
	else if (got == sizeof(message.sm) && message.magic == CLV_ATTACH_SM_MAGIC)
		clv_sm_record_state(connection->process, &message.sm);
	else if (got == sizeof(message.exports) &&
		 message.magic == CLV_ATTACH_EXPORTS_MAGIC && n_fds > 0)
		clv_orphaned_memory_record(connection->process, fd);
	else if (is_threads_message(&message.threads, got))
		clv_executor_record_threads(
			connection->process, message.threads.tids, message.threads.n);
	if (n_fds > 0)
		clv_close_fd(&fd);
	return got > 0 || got == -EAGAIN || got == -EMSGSIZE;
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct connection *connection = userdata;
	struct clv_attached *process = connection->process;

	if (!process && !connection->is_parked) {
		on_hello(connection);
		return 0;
	}
	if (process && (events & EPOLLIN) && on_message(connection))
		return 0;
	connection_free(connection);
	if (process)
		clv_attached_disconnected(process);
	return 0;
}

static int on_timeout(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct connection *connection = userdata;
	struct clv_error err;

	if (connection->is_parked)
		clv_error_set(&err, -EBUSY,
			"devices are being repartitioned and their new numbers are not "
			"known yet: start the program again when that is complete");
	else
		clv_error_set(
			&err, -ETIMEDOUT, "no hello of a cleave gate came within 2 s");
	refuse(connection, NULL, &err);
	return 0;
}

static void add_connection(struct clv_gate_server *server, int fd)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	sd_event *event = server->lease->agent->event;

	if (!connection) {
		close(fd);
		return;
	}
	connection->server = server;
	connection->fd = fd;
	TAILQ_INSERT_TAIL(&server->connections, connection, entry);
	if (++server->n_unattached >= MAX_UNATTACHED)
		sd_event_source_set_enabled(server->io, SD_EVENT_OFF);
	if (sd_event_add_io(
		    event, &connection->io, fd, EPOLLIN, on_connection, connection) < 0 ||
		sd_event_add_time_relative(event, &connection->timer, CLOCK_MONOTONIC,
			HELLO_TIMEOUT_US, 0, on_timeout, connection) < 0)
		connection_free(connection);
}

static int on_pause_over(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_gate_server *server = userdata;

	server->pause_timer = sd_event_source_disable_unref(server->pause_timer);
	if (server->n_unattached < MAX_UNATTACHED)
		sd_event_source_set_enabled(server->io, SD_EVENT_ON);
	return 0;
}

static int on_connect(
	sd_event_source *source, int listen_fd, uint32_t events, void *userdata)
{
	struct clv_gate_server *server = userdata;
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		add_connection(server, fd);
		return 0;
	}
	/* The pending connection keeps the socket readable: without a pause the loop
	 * would spin. */
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
		sd_event_source_set_enabled(server->io, SD_EVENT_OFF);
		sd_event_add_time_relative(server->lease->agent->event,
			&server->pause_timer, CLOCK_MONOTONIC, PAUSE_US, 0, on_pause_over,
			server);
	}
	return 0;
}

int clv_gate_server_new(
	struct clv_lease *lease, struct clv_gate_server **ret, struct clv_error *err)
{
	struct clv_gate_server *server = calloc(1, sizeof(*server));
	char path[CLV_FOLDER_MAX + 64];
	int r;

	if (!server)
		return clv_error_errno(err, ENOMEM, "cannot serve the lease");
	server->lease = lease;
	server->listen_fd = -1;
	TAILQ_INIT(&server->connections);
	clv_lease_socket(lease, path, sizeof(path));
	r = clv_lease_make_folder(lease, err);
	if (r >= 0)
		r = clv_socket_listen(path, SOCK_SEQPACKET,
			lease->record.admit == CLV_ADMIT_SOCKET ? 0666 : 0600, err);
	if (r >= 0) {
		server->listen_fd = r;
		r = clv_lease_give_socket(lease, err);
	}
	if (r >= 0) {
		r = sd_event_add_io(lease->agent->event, &server->io, server->listen_fd,
			EPOLLIN, on_connect, server);
		if (r < 0)
			clv_error_errno(err, -r, "cannot watch %s", path);
	}
	if (r < 0) {
		clv_gate_server_free(server);
		return r;
	}
	*ret = server;
	return 0;
}

struct clv_gate_server *clv_gate_server_free(struct clv_gate_server *server)
{
	if (!server)
		return NULL;
	while (!TAILQ_EMPTY(&server->connections))
		connection_free(TAILQ_FIRST(&server->connections));
	sd_event_source_disable_unref(server->io);
	sd_event_source_disable_unref(server->pause_timer);
	clv_close_fd(&server->listen_fd);
	free(server);
	return NULL;
}

static struct connection *find_parked(struct clv_gate_server *server)
{
	struct connection *connection;

	TAILQ_FOREACH(connection, &server->connections, entry)
	{
		if (connection->is_parked && !waits_for_numbers(connection))
			return connection;
	}
	return NULL;
}

void clv_gate_server_resume(struct clv_gate_server *server)
{
	struct clv_lease *lease = server->lease;
	struct connection *connection;

	lease->settle_timer = sd_event_source_disable_unref(lease->settle_timer);
	while ((connection = find_parked(server))) {
		connection->is_parked = false;
		attach(connection, connection->old_slot, -1);
	}
}
