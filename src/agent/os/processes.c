/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: pidfds to wait for their end, pid and start time to store them, and their
 * ancestors, cgroups and mapped files by /proc.  Policy is the ledger's and the gate
 * server's. */
#include "agent/os/processes.h"

#include "agent/os/poll.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#define KILL_AFTER_NS (5 * CLV_NS_PER_S)

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define MAX_ANCESTORS 4096
#define MAX_WALKS 3

struct clv_watch {
	int pidfd;
	sd_event_source *source;
	void (*callback)(void *userdata);
	void *userdata;
};

/* Raw system calls, because glibc has the wrappers only since 2.36 and the agent also
 * runs with older versions. */
static int open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static int send_signal(int pidfd, int signal_number)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, signal_number, NULL, 0);
}

struct stat_file {
	int parent;
	uint64_t start_ticks, vm_bytes;
	struct clv_process_layout layout;
};

static int read_stat_file(pid_t pid, struct stat_file *ret)
{
	char path[64], text[1024];
	_cleanup_close_ int fd = -1;
	const char *after_name;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	length = read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return -ESRCH;
	text[length] = '\0';
	/* The name is in parentheses and may contain any character, so the fields are
	 * counted from the last parenthesis. */
	after_name = strrchr(text, ')');
	if (!after_name ||
		sscanf(after_name + 1,
			" %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			"%*d %*d %*d %" SCNu64 " %" SCNu64 " %*d %*u %" SCNu64
			" %*u %" SCNu64,
			&ret->parent, &ret->start_ticks, &ret->vm_bytes,
			&ret->layout.code, &ret->layout.stack) != 5)
		return -ESRCH;
	return 0;
}

int clv_process_read(pid_t pid, pid_t *ret_parent, uint64_t *ret_start_ticks)
{
	struct stat_file file;

	if (read_stat_file(pid, &file) < 0)
		return -ESRCH;
	if (ret_parent)
		*ret_parent = file.parent;
	if (ret_start_ticks)
		*ret_start_ticks = file.start_ticks;
	return 0;
}

int clv_process_newest(pid_t *ret)
{
	_cleanup_close_ int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	char text[128];
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *last;

	if (length <= 0)
		return -ESRCH;
	text[length] = '\0';
	last = strrchr(text, ' ');
	*ret = last ? atoi(last) : 0;
	return *ret > 0 ? 0 : -ESRCH;
}

int clv_process_size(const struct clv_process_id *id, uint64_t *ret_bytes)
{
	struct stat_file file;

	if (read_stat_file(id->pid, &file) < 0 || file.start_ticks != id->start_ticks)
		return -ESRCH;
	*ret_bytes = file.vm_bytes;
	return 0;
}

int clv_process_read_layout(pid_t pid, struct clv_process_layout *ret)
{
	struct stat_file file;

	if (read_stat_file(pid, &file) < 0)
		return -ESRCH;
	*ret = file.layout;
	return 0;
}

/* The path in "0::/user.slice" or "1:name=systemd:/user.slice"; NULL for other lines and
 * for the root cgroup, which says nothing about the process. */
static const char *read_cgroup_line(char *line, bool *ret_is_unified)
{
	static const char unified[] = "0::", systemd[] = ":name=systemd:";
	const char *at = strstr(line, systemd);

	line[strcspn(line, "\n")] = '\0';
	*ret_is_unified = strncmp(line, unified, sizeof(unified) - 1) == 0;
	if (*ret_is_unified)
		at = line + sizeof(unified) - 1;
	else if (at)
		at += sizeof(systemd) - 1;
	return at && strcmp(at, "/") != 0 ? at : NULL;
}

int clv_process_cgroup(const struct clv_process_id *id, char ret[CLV_CGROUP_MAX])
{
	char path[40], line[CLV_CGROUP_MAX + 64];
	bool is_unified = false;
	uint64_t start_ticks;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)id->pid);
	file = fopen(path, "re");
	ret[0] = '\0';
	while (file && !is_unified && fgets(line, sizeof(line), file)) {
		bool is_this_unified;
		const char *at = read_cgroup_line(line, &is_this_unified);

		if (at && strlen(at) < CLV_CGROUP_MAX) {
			strcpy(ret, at);
			is_unified = is_this_unified;
		}
	}
	if (file)
		fclose(file);
	/* The pid may have been reused before the file was opened, which the start time
	 * shows. */
	if (clv_process_read(id->pid, NULL, &start_ticks) < 0 ||
		start_ticks != id->start_ticks)
		return -ESRCH;
	return ret[0] != '\0' ? 0 : -ENOENT;
}

bool clv_process_is_dead(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return clv_poll(&p, 0) > 0;
}

int clv_process_open(const struct clv_process_id *id)
{
	_cleanup_close_ int pidfd = id->pid > 0 ? open_pidfd(id->pid) : -1;
	uint64_t start_ticks;

	if (pidfd < 0)
		return -ESRCH;
	/* The pid may have been reused between the two calls.  The start time read is
	 * that of the pidfd's process if this process is still alive afterwards. */
	if (clv_process_read(id->pid, NULL, &start_ticks) < 0 ||
		start_ticks != id->start_ticks || clv_process_is_dead(pidfd))
		return -ESRCH;

	return CLV_TAKE_FD(pidfd);
}

void clv_process_end(
	const struct clv_process_id *id, uint64_t now_ns, uint64_t *signalled_ns)
{
	_cleanup_close_ int pidfd = -1;
	bool is_late = *signalled_ns > 0 && now_ns - *signalled_ns >= KILL_AFTER_NS;

	if (id->start_ticks == 0 || (*signalled_ns > 0 && !is_late))
		return;
	pidfd = clv_process_open(id);
	if (pidfd < 0)
		return;
	send_signal(pidfd, is_late ? SIGKILL : SIGTERM);
	*signalled_ns = now_ns;
}

int clv_process_of_socket(
	int socket_fd, struct clv_peer *ret, int *ret_pidfd, struct clv_error *err)
{
	struct ucred credentials;
	socklen_t length = sizeof(credentials);
	struct clv_peer peer;
	int pidfd = -1;

	if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0)
		return clv_error_errno(
			err, errno, "cannot read the caller's credentials");
	if (credentials.pid <= 0)
		return clv_error_set(err, -EPERM,
			"the caller is in a PID namespace that the agent cannot see: "
			"call "
			"from the agent's own PID namespace or from one below it");

	peer = (struct clv_peer){.id.pid = credentials.pid,
		.uid = credentials.uid,
		.gid = credentials.gid};
	length = sizeof(pidfd);
	if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) < 0)
		pidfd = -1;
	if (clv_process_read(peer.id.pid, NULL, &peer.id.start_ticks) < 0)
		goto gone;
	if (pidfd < 0)
		pidfd = clv_process_open(&peer.id);
	if (pidfd < 0 || clv_process_is_dead(pidfd))
		goto gone;

	*ret = peer;
	if (ret_pidfd)
		*ret_pidfd = pidfd;
	else
		close(pidfd);
	return 0;

gone:
	if (pidfd >= 0)
		close(pidfd);
	return clv_error_set(err, -ESRCH,
		"the calling process %d has ended: call from a process that keeps "
		"running",
		(int)credentials.pid);
}

static int walk(pid_t pid, clv_process_match match, void *userdata)
{
	for (int i = 0; i < MAX_ANCESTORS && pid > 0; i++) {
		struct clv_process_id id = {.pid = pid};
		pid_t parent;

		if (clv_process_read(pid, &parent, &id.start_ticks) < 0)
			return -EAGAIN;
		if (match(userdata, &id))
			return 1;
		pid = parent;
	}
	return 0;
}

bool clv_process_has_ancestor(pid_t pid, clv_process_match match, void *userdata)
{
	int r = -EAGAIN;

	/* An ancestor that ends during the walk gives its children another parent: the
	 * walk then fails and is repeated. */
	for (int i = 0; i < MAX_WALKS && r == -EAGAIN; i++)
		r = walk(pid, match, userdata);
	return r > 0;
}

struct ancestors {
	struct clv_process_id *ret;
	size_t n, room;
	pid_t of;
};

static bool take_ancestor(void *userdata, const struct clv_process_id *id)
{
	struct ancestors *ancestors = userdata;

	if (id->pid == ancestors->of)
		ancestors->n = 0; /* a walk begins, perhaps a repeated one */
	else if (ancestors->n < ancestors->room)
		ancestors->ret[ancestors->n++] = *id;
	return ancestors->n == ancestors->room;
}

size_t clv_process_ancestors(pid_t pid, struct clv_process_id *ret, size_t room)
{
	struct ancestors ancestors = {.ret = ret, .room = room, .of = pid};

	clv_process_has_ancestor(pid, take_ancestor, &ancestors);
	return ancestors.n;
}

void clv_process_boot_id(char ret[40])
{
	static char known[40]; /* read once for all leases */

	if (known[0] == '\0') {
		_cleanup_close_ int fd =
			open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

		if (fd < 0 || read(fd, known, 36) < 36)
			known[0] = '\0';
	}
	memcpy(ret, known, sizeof(known));
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_watch *watch = userdata;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	watch->callback(watch->userdata);
	return 0;
}

int clv_watch_new(sd_event *event, int pidfd, void (*callback)(void *userdata),
	void *userdata, struct clv_watch **ret)
{
	struct clv_watch *watch = calloc(1, sizeof(*watch));
	int r;

	assert(pidfd >= 0 && callback);
	if (!watch) {
		close(pidfd);
		return -ENOMEM;
	}
	*watch = (struct clv_watch){
		.pidfd = pidfd, .callback = callback, .userdata = userdata};
	r = sd_event_add_io(event, &watch->source, pidfd, EPOLLIN, on_readable, watch);
	/* The end of a process is dispatched before requests that became readable in the
	 * same iteration: when a launcher releases its lease after its program has ended,
	 * that program must no longer count. */
	if (r >= 0)
		r = sd_event_source_set_priority(
			watch->source, SD_EVENT_PRIORITY_IMPORTANT);
	if (r < 0) {
		clv_watch_free(watch);
		return r;
	}
	*ret = watch;
	return 0;
}

struct clv_watch *clv_watch_free(struct clv_watch *watch)
{
	if (!watch)
		return NULL;
	sd_event_source_disable_unref(watch->source);
	close(watch->pidfd);
	free(watch);
	return NULL;
}

bool clv_watch_is_dead(const struct clv_watch *watch)
{
	return clv_process_is_dead(watch->pidfd);
}

int clv_watch_signal(const struct clv_watch *watch, int signal_number)
{
	return send_signal(watch->pidfd, signal_number) < 0 ? -errno : 0;
}
