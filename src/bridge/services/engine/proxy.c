/* SPDX-License-Identifier: Apache-2.0 */
/* HAProxy: started with a file that says the present state, then changed by its runtime
 * API. */
#include "bridge/services/engine/proxy.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/socket.h"
#include "bridge/services/engine/job.h"
#include "bridge/services/engine/proxy-config.h"
#include "bridge/services/project/project.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROGRAM "haproxy"
#define ANSWER_MAX_BYTES (4u << 20)
#define TIMEOUT_MS 5000
/* Two descriptors for each connection, and some of its own. */
#define BACKLOG 4096
#define CONNECTIONS_MAX 20000u
#define OWN_DESCRIPTORS 200u

#define LISTENERS_MAX 16
/* Of the sockets in HAProxy: above the numbers that they have in the supervisor. */
#define FIRST_FD 600

struct listener {
	char host_ip[64];
	uint16_t port;
	int fd;
};

struct clv_proxy {
	char config[CLV_PATH_MAX], socket[CLV_PATH_MAX], pid_file[CLV_PATH_MAX];
	char refusal[CLV_PATH_MAX]; /* the answer where no replica is there */
	struct listener listeners[LISTENERS_MAX];
	int fds[LISTENERS_MAX]; /* of the listeners */
	size_t n_listeners;
	bool is_bound; /* all of them are there */
	pid_t pid;
	int pidfd;
	enum { UNKNOWN, HOLDS, HOLDS_NOT } holding;
	int resting_pidfd; /* of the last one that was told to end after its connections
			    */
};

int clv_proxy_new(const struct clv_project *project, const char *service,
	struct clv_proxy **ret, struct clv_error *err)
{
	struct clv_proxy *proxy = calloc(1, sizeof(*proxy));
	char name[CLV_SERVICE_NAME_MAX + 16];

	if (!proxy)
		return clv_error_errno(err, ENOMEM, "cannot start the proxy");
	snprintf(name, sizeof(name), "%s.cfg", service);
	clv_project_path(project, name, proxy->config);
	snprintf(name, sizeof(name), "%s.sock", service);
	clv_project_path(project, name, proxy->socket);
	snprintf(name, sizeof(name), "%s.pid", service);
	clv_project_path(project, name, proxy->pid_file);
	clv_project_path(project, "503.http", proxy->refusal);
	proxy->pidfd = -1;
	proxy->resting_pidfd = -1;
	*ret = proxy;
	return 0;
}

static void forget_process(struct clv_proxy *proxy)
{
	if (proxy->pidfd >= 0)
		close(proxy->pidfd);
	proxy->pidfd = -1;
	proxy->pid = 0;
	proxy->holding = UNKNOWN;
}

static void forget_resting(struct clv_proxy *proxy)
{
	if (proxy->resting_pidfd >= 0)
		close(proxy->resting_pidfd);
	proxy->resting_pidfd = -1;
}

static void close_listeners(struct clv_proxy *proxy)
{
	for (size_t i = 0; i < proxy->n_listeners; i++)
		close(proxy->listeners[i].fd);
	proxy->n_listeners = 0;
	proxy->is_bound = false;
}

struct clv_proxy *clv_proxy_free(struct clv_proxy *proxy)
{
	if (!proxy)
		return NULL;
	close_listeners(proxy);
	forget_process(proxy);
	forget_resting(proxy);
	free(proxy);
	return NULL;
}

/* --- Its runtime API --- */

static char *read_answer(int fd)
{
	char *text = NULL;
	size_t n = 0;

	for (;;) {
		char *grown = realloc(text, n + 16384 + 1);
		ssize_t got;

		if (!grown || n > ANSWER_MAX_BYTES) {
			free(grown ? grown : text);
			return NULL;
		}
		text = grown;
		got = read(fd, text + n, 16384);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			free(text);
			return NULL;
		}
		if (got == 0)
			break;
		n += (size_t)got;
	}
	text[n] = '\0';
	return text;
}

/* The caller frees the answer; NULL with *err set. */
static char *ask(
	const struct clv_proxy *proxy, const char *command, struct clv_error *err)
{
	_cleanup_close_ int fd =
		clv_socket_connect(proxy->socket, SOCK_STREAM, TIMEOUT_MS, err);
	char *answer;

	if (fd < 0)
		return NULL;
	if (dprintf(fd, "%s\n", command) < 0) {
		clv_error_errno(err, errno, "cannot ask the proxy");
		return NULL;
	}
	answer = read_answer(fd);
	if (!answer)
		clv_error_set(err, -EIO, "the proxy does not answer");
	return answer;
}

/* A command whose answer is empty. */
static int tell(const struct clv_proxy *proxy, const char *command, struct clv_error *err)
{
	_cleanup_free_ char *answer = ask(proxy, command, err);
	char *end;

	if (!answer)
		return -EIO;
	end = answer + strlen(answer);
	while (end > answer && isspace((unsigned char)end[-1]))
		*--end = '\0';
	/* It tells of changed addresses. */
	if (!answer[0] || strstr(answer, "changed from") || strstr(answer, "no need"))
		return 0;
	return clv_error_set(
		err, -EIO, "the proxy refuses '%.80s': %.200s", command, answer);
}

/* --- Its process --- */

/* Whether the process is this project's proxy. */
static bool is_ours(const struct clv_proxy *proxy, pid_t pid)
{
	char path[64], line[2 * CLV_PATH_MAX];
	_cleanup_free_ char *text = NULL;
	size_t n_bytes;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	if (clv_file_read_all(path, sizeof(line), &text, &n_bytes, NULL) < 0)
		return false;
	for (size_t i = 0; i < n_bytes; i += strlen(text + i) + 1) {
		if (strcmp(text + i, proxy->config) == 0)
			return true;
	}
	return false;
}

static void find_process(struct clv_proxy *proxy)
{
	_cleanup_free_ char *text = NULL;
	pid_t pid;

	forget_process(proxy);
	if (clv_file_read_all(proxy->pid_file, 4096, &text, NULL, NULL) < 0)
		return;
	pid = (pid_t)strtol(text, NULL, 10);
	if (pid <= 0)
		return;
	proxy->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (proxy->pidfd < 0)
		return;
	/* Compared while the descriptor keeps the number from another process. */
	if (is_ours(proxy, pid))
		proxy->pid = pid;
	else
		forget_process(proxy);
}

static bool runs(int pidfd)
{
	struct pollfd wait = {.fd = pidfd, .events = POLLIN};

	return pidfd >= 0 && poll(&wait, 1, 0) == 0;
}

static bool is_alive(const struct clv_proxy *proxy)
{
	return runs(proxy->pidfd);
}

bool clv_proxy_is_resting(const struct clv_proxy *proxy)
{
	return runs(proxy->resting_pidfd);
}

bool clv_proxy_is_running(const struct clv_proxy *proxy)
{
	return is_alive(proxy);
}

int clv_proxy_get_pidfd(const struct clv_proxy *proxy)
{
	return is_alive(proxy) ? proxy->pidfd : -1;
}

/* As many as the limit of descriptors allows, which the proxy inherits. */
static unsigned n_connections(void)
{
	struct rlimit limit;
	rlim_t n;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1000;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		getrlimit(RLIMIT_NOFILE, &limit);
	n = limit.rlim_cur > 2 * OWN_DESCRIPTORS ? (limit.rlim_cur - OWN_DESCRIPTORS) / 2
						 : 100;
	return n < CONNECTIONS_MAX ? (unsigned)n : CONNECTIONS_MAX;
}

static int launch(struct clv_proxy *proxy, struct clv_error *err)
{
	char *const argv[] = {(char *)PROGRAM, (char *)"-D", (char *)"-f", proxy->config,
		(char *)"-p", proxy->pid_file, NULL};
	int r = clv_job_call_with(
		argv, proxy->fds, proxy->n_listeners, FIRST_FD, NULL, err);

	if (r < 0)
		return clv_error_prefix(err, "the proxy does not start");
	find_process(proxy);
	if (!is_alive(proxy))
		return clv_error_set(err, -EIO, "the proxy ended at once");
	return 0;
}

int clv_proxy_run(struct clv_proxy *proxy, const struct clv_service *service, bool holds,
	const char *(*address_of)(void *userdata, unsigned slot), void *userdata,
	struct clv_error *err)
{
	_cleanup_free_ char *shape = clv_proxy_config_shape(service), *text = NULL;
	const struct clv_proxy_config config = {
		.socket = proxy->socket,
		.refusal = proxy->refusal,
		.shape = shape,
		.first_fd = FIRST_FD,
		.n_connections = n_connections(),
		.holds = holds,
		.address_of = address_of,
		.userdata = userdata,
	};
	int r;

	if (!is_alive(proxy))
		find_process(proxy);
	if (shape && is_alive(proxy) && clv_proxy_config_has_shape(proxy->config, shape))
		return 0;
	text = shape ? clv_proxy_config_write(service, &config) : NULL;
	if (!text)
		return clv_error_errno(err, ENOMEM, "cannot start the proxy");
	/* After a crash of the machine no HAProxy runs that has read them. */
	r = clv_file_replace_unsynced(proxy->refusal, clv_proxy_refusal, err);
	if (r >= 0)
		r = clv_file_replace_unsynced(proxy->config, text, err);
	if (r < 0)
		return r;
	clv_proxy_rest(proxy);
	r = launch(proxy, err);
	if (r >= 0)
		proxy->holding = holds ? HOLDS : HOLDS_NOT;
	return r;
}

static void send_signal(const struct clv_proxy *proxy, int number)
{
	syscall(SYS_pidfd_send_signal, proxy->pidfd, number, NULL, 0);
}

void clv_proxy_rest(struct clv_proxy *proxy)
{
	if (!is_alive(proxy))
		find_process(proxy);
	if (is_alive(proxy)) {
		send_signal(proxy, SIGUSR1);
		forget_resting(proxy);
		proxy->resting_pidfd = CLV_TAKE_FD(proxy->pidfd);
	}
	forget_process(proxy);
	/* What is resting is not found again. */
	unlink(proxy->pid_file);
}

void clv_proxy_close(struct clv_proxy *proxy)
{
	clv_proxy_rest(proxy);
	close_listeners(proxy);
}

void clv_proxy_stop(struct clv_proxy *proxy)
{
	struct pollfd wait = {.events = POLLIN};

	if (!is_alive(proxy))
		find_process(proxy);
	if (is_alive(proxy)) {
		wait.fd = proxy->pidfd;
		send_signal(proxy, SIGTERM);
		if (poll(&wait, 1, TIMEOUT_MS) == 0)
			send_signal(proxy, SIGKILL);
	}
	forget_process(proxy);
	close_listeners(proxy);
}

/* --- Servers and frontends --- */

int clv_proxy_set_server(struct clv_proxy *proxy, const struct clv_service *service,
	unsigned slot, const char *address, struct clv_error *err)
{
	int r = 0;

	for (size_t i = 0; i < service->n_ports && r >= 0; i++) {
		const struct clv_service_port *port = &service->ports[i];
		char command[512], name[128];

		snprintf(name, sizeof(name), "%s:%u/r%u", service->name, port->published,
			slot);
		snprintf(command, sizeof(command),
			"set server %s addr %s port %u; set server %s state ready", name,
			address, port->target, name);
		r = tell(proxy, command, err);
	}
	return r;
}

/* In one line: HAProxy has one thread, and serves no request between its commands. */
int clv_proxy_end_server(struct clv_proxy *proxy, const struct clv_service *service,
	unsigned slot, bool holds, struct clv_error *err)
{
	int r = 0;

	for (size_t i = 0; i < service->n_ports && r >= 0; i++) {
		char command[512], hold[256] = "";
		unsigned port = service->ports[i].published;

		if (holds)
			snprintf(hold, sizeof(hold),
				"set server %s:%u/wait state ready; ", service->name,
				port);
		snprintf(command, sizeof(command), "%sset server %s:%u/r%u state maint",
			hold, service->name, port, slot);
		r = tell(proxy, command, err);
	}
	if (holds && r >= 0)
		proxy->holding = HOLDS;
	return r;
}

int clv_proxy_end_hold(
	struct clv_proxy *proxy, const struct clv_service *service, struct clv_error *err)
{
	int r = 0;

	if (proxy->holding == HOLDS_NOT)
		return 0;
	for (size_t i = 0; i < service->n_ports && r >= 0; i++) {
		char command[256];

		snprintf(command, sizeof(command), "set server %s:%u/wait state maint",
			service->name, service->ports[i].published);
		r = tell(proxy, command, err);
	}
	if (r >= 0)
		proxy->holding = HOLDS_NOT;
	return r;
}

/* --- Listening sockets --- */

/* The address of a port; returns its size. */
static socklen_t address_of_port(
	const char *host_ip, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (strchr(host_ip, ':')) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		return inet_pton(AF_INET6, host_ip, &v6->sin6_addr) == 1 ? sizeof(*v6)
									 : 0;
	}
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	return !host_ip[0] || inet_pton(AF_INET, host_ip, &v4->sin_addr) == 1
		       ? sizeof(*v4)
		       : 0;
}

static int open_listener(struct listener *listener, struct clv_error *err)
{
	struct sockaddr_storage address;
	socklen_t n_bytes = address_of_port(listener->host_ip, listener->port, &address);
	_cleanup_close_ int fd =
		socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (n_bytes == 0)
		return clv_error_set(
			err, -EINVAL, "'%s' is no address", listener->host_ip);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		bind(fd, (struct sockaddr *)&address, n_bytes) < 0 ||
		listen(fd, BACKLOG) < 0)
		return clv_error_errno(err, errno, "cannot open port %u", listener->port);
	listener->fd = CLV_TAKE_FD(fd);
	return 0;
}

/* Whether the socket listens at the address of the port. */
static bool is_socket_of(const struct listener *listener, int fd)
{
	struct sockaddr_storage wanted, address = {0};
	socklen_t n_wanted = address_of_port(listener->host_ip, listener->port, &wanted);
	socklen_t n_bytes = sizeof(address), n = sizeof(int);
	int listens = 0;

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 && listens &&
	       getsockname(fd, (struct sockaddr *)&address, &n_bytes) == 0 &&
	       n_bytes == n_wanted && memcmp(&address, &wanted, n_bytes) == 0;
}

/* The sockets that a running HAProxy has inherited, by their numbers there.  (It shows
 * others only by its runtime API.) */
static size_t take_sockets(const struct clv_proxy *proxy, int *fds)
{
	size_t n = 0;

	for (int i = 0; i < LISTENERS_MAX; i++) {
		int fd = (int)syscall(SYS_pidfd_getfd, proxy->pidfd, FIRST_FD + i, 0);

		if (fd >= 0)
			fds[n++] = fd;
	}
	return n;
}

/* The socket of a port among others, which is then -1 there; else -1. */
static int find_socket(const struct listener *listener, int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (fds[i] >= 0 && is_socket_of(listener, fds[i])) {
			int found = fds[i];

			fds[i] = -1;
			return found;
		}
	}
	return -1;
}

static int bind_port(struct clv_proxy *proxy, const struct clv_service_port *port,
	int *fds, size_t n, struct clv_error *err)
{
	struct listener listener = {.port = port->published};
	int r = 0;

	snprintf(listener.host_ip, sizeof(listener.host_ip), "%s",
		port->host_ip ? port->host_ip : "");
	if (proxy->n_listeners == LISTENERS_MAX)
		return clv_error_set(
			err, -E2BIG, "a service has at most %d ports", LISTENERS_MAX);
	listener.fd = find_socket(&listener, fds, n);
	if (listener.fd < 0)
		r = open_listener(&listener, err);
	if (r < 0)
		return r;
	proxy->fds[proxy->n_listeners] = listener.fd;
	proxy->listeners[proxy->n_listeners++] = listener;
	return 0;
}

static bool is_among(int fd, const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (fds[i] == fd)
			return true;
	}
	return false;
}

/* While no HAProxy runs, connections to ports that were opened beside one that is taken
 * would wait without an answer: these are refused. */
static void close_new(struct clv_proxy *proxy, const int *before, size_t n_before)
{
	size_t n = 0;

	for (size_t i = 0; i < proxy->n_listeners; i++) {
		if (is_among(proxy->fds[i], before, n_before)) {
			proxy->fds[n] = proxy->fds[i];
			proxy->listeners[n++] = proxy->listeners[i];
		} else {
			close(proxy->fds[i]);
		}
	}
	proxy->n_listeners = n;
}

int clv_proxy_bind(
	struct clv_proxy *proxy, const struct clv_service *service, struct clv_error *err)
{
	int fds[LISTENERS_MAX], before[LISTENERS_MAX];
	size_t n = proxy->n_listeners;
	int r = 0;

	if (!is_alive(proxy))
		find_process(proxy);
	memcpy(fds, proxy->fds, n * sizeof(fds[0]));
	if (n == 0 && is_alive(proxy))
		n = take_sockets(proxy, fds);
	memcpy(before, fds, n * sizeof(fds[0]));
	proxy->n_listeners = 0;
	/* Those after a port that is taken are opened, too: the HAProxy that runs has
	 * them already, and they could not be opened later. */
	for (size_t i = 0; i < service->n_ports; i++) {
		int its =
			bind_port(proxy, &service->ports[i], fds, n, r < 0 ? NULL : err);

		r = r < 0 ? r : its;
	}
	for (size_t i = 0; i < n; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	if (r < 0 && !is_alive(proxy))
		close_new(proxy, before, n);
	proxy->is_bound = r >= 0;
	return r;
}

bool clv_proxy_is_bound(const struct clv_proxy *proxy)
{
	return proxy->is_bound;
}

size_t clv_proxy_get_listeners(const struct clv_proxy *proxy, const int **ret_fds)
{
	*ret_fds = proxy->fds;
	return proxy->n_listeners;
}

bool clv_proxy_has_waiting(const struct clv_proxy *proxy)
{
	struct pollfd waits[LISTENERS_MAX];

	for (size_t i = 0; i < proxy->n_listeners; i++)
		waits[i] = (struct pollfd){.fd = proxy->fds[i], .events = POLLIN};
	return proxy->n_listeners > 0 && poll(waits, proxy->n_listeners, 0) > 0;
}

/* --- Figures --- */

/* The places of fields in a line of "show stat". */
struct columns {
	int server, current, queued, sessions, requests;
};

static const struct {
	const char *name;
	size_t offset;
} column_names[] = {
	{"svname", offsetof(struct columns, server)},
	{"scur", offsetof(struct columns, current)},
	{"qcur", offsetof(struct columns, queued)},
	{"stot", offsetof(struct columns, sessions)},
	{"req_tot", offsetof(struct columns, requests)},
};

#define FIELDS_MAX 128

static size_t split(char *line, char *fields[FIELDS_MAX])
{
	size_t n = 0;

	for (char *rest = line; rest && n < FIELDS_MAX;)
		fields[n++] = strsep(&rest, ",");
	return n;
}

static struct columns find_columns(char *line)
{
	char *fields[FIELDS_MAX];
	size_t n = split(line, fields);
	struct columns columns;

	memset(&columns, 0xff, sizeof(columns));
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < CLV_ARRAY_SIZE(column_names); j++) {
			if (strcmp(fields[i], column_names[j].name) == 0)
				*(int *)(void *)((char *)&columns +
						 column_names[j].offset) = (int)i;
		}
	}
	return columns;
}

static uint64_t number_at(char **fields, size_t n, int at)
{
	return at >= 0 && (size_t)at < n ? strtoull(fields[at], NULL, 10) : 0;
}

static void add_line(
	const struct columns *columns, char *line, struct clv_proxy_figures *ret)
{
	char *fields[FIELDS_MAX];
	size_t n = split(line, fields);
	uint32_t n_current = (uint32_t)number_at(fields, n, columns->current);
	const char *server;

	if (columns->server < 0 || n <= (size_t)columns->server)
		return;
	server = fields[columns->server];
	if (strcmp(server, "FRONTEND") == 0) {
		uint64_t n_requests = number_at(fields, n, columns->requests);

		/* Of HTTP its requests, of TCP its connections. */
		ret->n_requests +=
			n_requests ? n_requests : number_at(fields, n, columns->sessions);
	} else if (strcmp(server, "BACKEND") == 0) {
		ret->n_in_flight +=
			n_current + (uint32_t)number_at(fields, n, columns->queued);
	} else if (server[0] == 'r') {
		unsigned slot = (unsigned)strtoul(server + 1, NULL, 10);

		if (slot < CLV_PROXY_SLOTS_MAX)
			ret->of_slot[slot] += n_current;
	}
}

int clv_proxy_read(
	struct clv_proxy *proxy, struct clv_proxy_figures *ret, struct clv_error *err)
{
	_cleanup_free_ char *answer = ask(proxy, "show stat", err);
	struct columns columns;
	char *rest = answer, *line;

	if (!answer)
		return -EIO;
	if (answer[0] != '#')
		return clv_error_set(err, -EIO, "the proxy shows no figures");
	*ret = (struct clv_proxy_figures){0};
	line = strsep(&rest, "\n");
	columns = find_columns(line);
	while (rest && (line = strsep(&rest, "\n")))
		add_line(&columns, line, ret);
	return 0;
}

/* --- Left ones --- */

void clv_proxy_sweep(const struct clv_project *project,
	bool (*is_wanted)(void *userdata, const char *service), void *userdata)
{
	DIR *folder = opendir(project->folder);

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		char service[CLV_SERVICE_NAME_MAX], *end = strrchr(entry->d_name, '.');
		struct clv_proxy *proxy;

		if (!end || strcmp(end, ".pid") != 0 ||
			(size_t)(end - entry->d_name) >= sizeof(service))
			continue;
		snprintf(service, sizeof(service), "%.*s", (int)(end - entry->d_name),
			entry->d_name);
		if (is_wanted(userdata, service) ||
			clv_proxy_new(project, service, &proxy, NULL) < 0)
			continue;
		clv_proxy_stop(proxy);
		unlink(proxy->pid_file);
		clv_proxy_free(proxy);
	}
	if (folder)
		closedir(folder);
}
