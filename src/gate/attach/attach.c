/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's side of the attach handshake.  It fails closed: without a reply from the
 * agent the process sees no device, unless it was started with --if-no-agent=open. */
#include "gate/attach/attach.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/proc.h"
#include "base/socket.h"
#include "gate/attach/heartbeat.h"
#include "gate/attach/place.h"
#include "gate/process/view.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

/* An agent whose disk is busy answers late; a program must not be refused for that.  A
 * stopped one does not answer at all; a cleave run replaces its user's own within two or
 * three seconds. */
#define ATTACH_TIMEOUT_MS 30000
#define STOPPED_TIMEOUT_MS 5000
#define SAY_AFTER_MS 1000
#define LOOK_MS 250
#define SUCCESSOR_NS (5 * CLV_NS_PER_S)

/* Programs that close unknown descriptors start from the lowest and mostly stop at a few
 * hundred. */
#define HIGH_FD 900

static int move_high(int fd)
{
	struct rlimit limit = {.rlim_cur = HIGH_FD * 2};
	int floor_fd = HIGH_FD, high;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur <= HIGH_FD + 16)
		floor_fd = limit.rlim_cur > 64 ? (int)limit.rlim_cur - 32 : 3;
	high = fcntl(fd, F_DUPFD_CLOEXEC, floor_fd);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static bool is_file(int fd, uint64_t device, uint64_t inode)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

static void record_file(int fd, uint64_t *ret_device, uint64_t *ret_inode)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	*ret_device = st.st_dev;
	*ret_inode = st.st_ino;
}

static bool has_report(const struct clv_view *view)
{
	return is_file(view->report_fd, view->report_device, view->report_inode);
}

static bool has_socket(const struct clv_view *view)
{
	return is_file(view->socket_fd, view->socket_device, view->socket_inode);
}

static void *map(int fd, size_t n_bytes, int protection)
{
	void *page = mmap(NULL, n_bytes, protection, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return NULL;
	madvise(page, n_bytes, MADV_DONTFORK);
	return page;
}

/* Pages of older agents end after the slots, or before the turns. */
static void find_optional_fields(struct clv_view *view, int report_fd, uint32_t slot)
{
	struct stat st = {0};

	view->turn = &view->unread_turn;
	if (fstat(report_fd, &st) < 0)
		return;
	if ((size_t)st.st_size >= offsetof(struct clv_report_page, turns))
		view->spilled_bytes = &view->report->spilled_bytes[slot];
	if (st.st_size >= CLV_REPORT_PAGE_BYTES)
		view->turn = &view->report->turns[slot];
}

/* Whether this is the length of a reply from an agent of this version or an older one. */
static bool is_length_of_reply(ssize_t n_bytes)
{
	return n_bytes == CLV_ATTACH_REPLY_FIRST_BYTES ||
	       n_bytes == sizeof(struct clv_attach_reply);
}

/* The agent as a process that connected to it sees it. */
struct agent {
	pid_t pid; /* the listener's; 0: not visible from this process's pid namespace */
	uint64_t looked_ns, stopped_ns;
};

static pid_t find_agent(int fd)
{
	struct ucred agent = {0};
	socklen_t n_bytes = sizeof(agent);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &agent, &n_bytes);
	return agent.pid;
}

static bool is_stopped(const struct agent *agent)
{
	struct clv_proc proc;

	return agent->pid > 0 && clv_proc_read(agent->pid, &proc) && proc.state == 'T';
}

/* Adds up for how long the agent has been stopped.  A look that comes late, because this
 * process was stopped as well, does not count as more than one in time. */
static bool stays_stopped(struct agent *agent)
{
	uint64_t now_ns = clv_clock_ns(), passed_ns = now_ns - agent->looked_ns;

	agent->looked_ns = now_ns;
	if (!is_stopped(agent))
		agent->stopped_ns = 0;
	else
		agent->stopped_ns += passed_ns < 2 * LOOK_MS * CLV_NS_PER_MS
					     ? passed_ns
					     : 2 * LOOK_MS * CLV_NS_PER_MS;
	return agent->stopped_ns >= STOPPED_TIMEOUT_MS * CLV_NS_PER_MS;
}

/* A new program cannot run while the agent is stopped or hangs, so its user is informed
 * of what it waits for. */
static void warn_late(const struct agent *agent)
{
	bool stopped = is_stopped(agent);

	fprintf(stderr,
		"cleave: process %d waits for the agent (process %d), which %s; after "
		"%d s the program gets no device\n",
		(int)getpid(), (int)agent->pid,
		stopped ? "is stopped: continue it (kill -CONT)"
			: "does not answer: continue it if it is stopped (kill -CONT), "
			  "restart it if it hangs",
		(stopped ? STOPPED_TIMEOUT_MS : ATTACH_TIMEOUT_MS) / 1000);
}

/* Waits until a reply can be received, or the connection has ended. */
static int wait_for_reply(int fd, struct clv_error *err)
{
	struct pollfd reply = {.fd = fd, .events = POLLIN};
	struct agent agent = {.looked_ns = clv_clock_ns()};
	uint64_t until_ns = agent.looked_ns + ATTACH_TIMEOUT_MS * CLV_NS_PER_MS;

	if (poll(&reply, 1, SAY_AFTER_MS) > 0)
		return 0;
	agent.pid = find_agent(fd);
	warn_late(&agent);
	while (poll(&reply, 1, LOOK_MS) <= 0) {
		if (stays_stopped(&agent))
			return clv_error_set(err, -EBUSY,
				"the agent (process %d) is stopped", (int)agent.pid);
		if (agent.looked_ns >= until_ns)
			return clv_error_set(
				err, -ETIMEDOUT, "the agent does not answer");
	}
	return 0;
}

static bool lacks_files(void)
{
	_cleanup_close_ int fd = open("/", O_PATH | O_CLOEXEC);

	return fd < 0 && errno == EMFILE;
}

static int fail_files(struct clv_error *err)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_NOFILE, &limit);
	return clv_error_set(err, -EMFILE,
		"the limit of %llu open files leaves too few for the lease",
		(unsigned long long)limit.rlim_cur);
}

/* reply is NULL if the message was not a reply. */
static int fail_reply(struct clv_attach_reply *reply, size_t n_fds, struct clv_error *err)
{
	if (!reply)
		return clv_error_set(err, -EPROTO,
			"the agent has another version: end its leases and restart it");
	/* The kernel passes only as many descriptors as the process may open. */
	if (reply->status == 0 && lacks_files())
		return fail_files(err);
	if (reply->status == 0)
		return clv_error_set(err, -EPROTO,
			"the agent's reply is incomplete (%zu of %d descriptors, slot "
			"%u)",
			n_fds, CLV_ATTACH_FDS, reply->slot);
	reply->message[sizeof(reply->message) - 1] = '\0';
	return clv_error_set(err, -EPROTO, "%s",
		reply->message[0] ? reply->message : "the agent refused");
}

static int exchange(int fd, uint32_t api, const struct clv_view *old,
	struct clv_attach_reply *reply, int fds[CLV_ATTACH_FDS], struct clv_error *err)
{
	struct clv_attach_hello hello = {
		.magic = CLV_ATTACH_MAGIC,
		.version = CLV_ATTACH_VERSION,
		.api = api,
		.page_version = CLV_PAGE_VERSION,
		.old_slot = old ? old->slot_index : CLV_ATTACH_NO_SLOT,
		.reply_bytes = sizeof(*reply),
	};
	size_t n_fds = CLV_ATTACH_FDS;
	bool has_page = old && has_report(old);
	bool is_reply;
	ssize_t got;
	int r;

	r = clv_socket_send(
		fd, &hello, sizeof(hello), has_page ? &old->report_fd : NULL, has_page);
	if (r == -EPIPE)
		r = -ECONNRESET;
	if (r < 0)
		return clv_error_errno(err, -r, "cannot send to the agent");
	r = old ? 0 : wait_for_reply(fd, err);
	if (r < 0)
		return r;
	got = clv_socket_receive(fd, reply, sizeof(*reply), fds, &n_fds);
	/* A reply that is too long has passed descriptors all the same. */
	for (size_t i = 0; got == -EMSGSIZE && i < n_fds; i++)
		close(fds[i]);
	if (got == 0 || got == -ECONNRESET)
		return clv_error_set(
			err, -ECONNRESET, "the agent ended before it answered");
	if (got < 0)
		return clv_error_errno(err, (int)-got, "the agent does not answer");
	is_reply = is_length_of_reply(got) && reply->magic == CLV_ATTACH_MAGIC;
	if (is_reply && reply->status == 0 && reply->slot < CLV_SLOTS &&
		n_fds == CLV_ATTACH_FDS)
		return 0;

	r = fail_reply(is_reply ? reply : NULL, n_fds, err);
	for (size_t i = 0; i < n_fds; i++)
		close(fds[i]);
	return r;
}

static void unmap(void *page, size_t n_bytes)
{
	if (page)
		munmap(page, n_bytes);
}

/* On failure the socket stays the caller's; the other descriptors are closed. */
static int build_view(struct clv_view *view, const struct clv_attach_reply *reply,
	int socket_fd, const int fds[CLV_ATTACH_FDS], struct clv_error *err)
{
	view->control =
		map(fds[CLV_ATTACH_FD_CONTROL], CLV_CONTROL_PAGE_BYTES, PROT_READ);
	view->report = map(
		fds[CLV_ATTACH_FD_REPORT], CLV_REPORT_PAGE_BYTES, PROT_READ | PROT_WRITE);
	close(fds[CLV_ATTACH_FD_CONTROL]);
	if (!view->control || !view->report) {
		unmap(view->control, CLV_CONTROL_PAGE_BYTES);
		unmap(view->report, CLV_REPORT_PAGE_BYTES);
		close(fds[CLV_ATTACH_FD_REPORT]);
		close(fds[CLV_ATTACH_FD_DOORBELL]);
		return clv_error_errno(err, ENOMEM, "cannot map the lease pages");
	}
	view->slot_index = reply->slot;
	view->slot = &view->report->slots[reply->slot];
	find_optional_fields(view, fds[CLV_ATTACH_FD_REPORT], reply->slot);
	view->socket_fd = move_high(socket_fd);
	view->report_fd = move_high(fds[CLV_ATTACH_FD_REPORT]);
	view->doorbell_fd = move_high(fds[CLV_ATTACH_FD_DOORBELL]);
	record_file(view->doorbell_fd, &view->doorbell_device, &view->doorbell_inode);
	record_file(view->report_fd, &view->report_device, &view->report_inode);
	record_file(view->socket_fd, &view->socket_device, &view->socket_inode);
	memcpy(view->platform, reply->platform, sizeof(view->platform) - 1);
	memcpy(view->model, reply->model, sizeof(view->model) - 1);
	memcpy(view->devices, reply->devices, sizeof(view->devices) - 1);
	view->ordinal = reply->ordinal;
	atomic_store(&view->slot->pid, reply->pid);
	return 0;
}

static int attach_once(const struct clv_lease_place *place, uint32_t api,
	const struct clv_view *old, struct clv_view **ret, struct clv_error *err)
{
	struct clv_attach_reply reply = {0};
	_cleanup_free_ struct clv_view *view = calloc(1, sizeof(*view));
	int fds[CLV_ATTACH_FDS];
	uint64_t asked_ns;
	int fd, r;

	if (!view)
		return clv_error_errno(err, ENOMEM, "cannot attach");
	fd = clv_socket_connect(place->socket, SOCK_SEQPACKET, ATTACH_TIMEOUT_MS, err);
	if (fd == -EMFILE)
		return fail_files(err);
	if (fd == -EACCES)
		clv_error_prefix(
			err, "user %u may not enter the lease", (unsigned int)geteuid());
	if (fd < 0)
		return fd;
	asked_ns = clv_clock_ns();
	r = exchange(fd, api, old, &reply, fds, err);
	if (r >= 0)
		r = build_view(view, &reply, fd, fds, err);
	if (r < 0) {
		close(fd);
		return r;
	}
	view->n_before = place->n_before;
	clv_heartbeat_set_clock(view, asked_ns);

	*ret = CLV_TAKE(view);
	return 0;
}

/* Retries for a while if the agent ends before it answers: a user's own agent that is
 * stopped or hangs is ended by the program that starts its successor
 * (client/unresponsive.h, cli/launch/guard.h), which soon has the lease. */
static int attach(const struct clv_lease_place *place, uint32_t api,
	const struct clv_view *old, struct clv_view **ret, struct clv_error *err)
{
	static const struct timespec pause = {.tv_nsec = 50 * CLV_NS_PER_MS};
	uint64_t until_ns = 0;

	for (;;) {
		int r = attach_once(place, api, old, ret, err);

		if (r == -ECONNRESET && until_ns == 0)
			until_ns = clv_clock_ns() + SUCCESSOR_NS;
		if (old || clv_clock_ns() >= until_ns ||
			(r != -ECONNRESET && r != -ECONNREFUSED && r != -ENOENT))
			return r;
		nanosleep(&pause, NULL);
	}
}

void clv_attach_report_refused(const char *why, const char *remedy)
{
	fprintf(stderr, "cleave: no device for process %d: %s%s%s\n", (int)getpid(), why,
		remedy ? "; " : "", remedy ? remedy : "");
}

/* Whether there is no agent, or none that answers.  One that refuses is there. */
static bool is_absent(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ECONNREFUSED || r == -ECONNRESET ||
	       r == -EBUSY || r == -ETIMEDOUT || r == -EAGAIN;
}

/* NULL: the reason has it.  A lease belongs to one user: a process of another user is
 * refused, because it could be traced by that user's other processes. */
static const char *find_remedy(const struct clv_lease_place *place, int r)
{
	if (r == -ENODEV)
		return NULL;
	if (r == -EPERM)
		return "unset the variable, with which no program leaves its lease";
	if (r == -EACCES)
		return "if the program changes its user, do that first and start cleave "
		       "run as that user";
	if (r == -EMFILE)
		return "raise the limit (ulimit -n)";
	if (r == -EBUSY || r == -ETIMEDOUT)
		return "continue the agent (kill -CONT) or restart it, and start the "
		       "program again";
	if (place->is_known)
		return "start the agent and the program again, or allow the program to "
		       "run without a lease with cleave run --if-no-agent=open, which it "
		       "cannot do itself";
	return "start the program with cleave run, or allow it to run without a lease "
	       "with --if-no-agent=open";
}

enum clv_attachment clv_attach(
	uint32_t api, const struct clv_view *old, bool quiet, struct clv_view **ret)
{
	struct clv_lease_place place;
	struct clv_error err = {0};
	int r = clv_lease_find(api, &place, &err);

	if (r >= 0)
		r = attach(&place, api, old, ret, &err);
	if (r >= 0)
		return CLV_ATTACHED;
	if (place.may_be_ungated && is_absent(r))
		return CLV_UNGATED;
	if (!quiet)
		clv_attach_report_refused(err.msg, find_remedy(&place, r));
	return CLV_REFUSED;
}

static bool has_doorbell(const struct clv_view *view)
{
	return is_file(view->doorbell_fd, view->doorbell_device, view->doorbell_inode);
}

bool clv_attach_is_intact(const struct clv_view *view)
{
	return has_doorbell(view) && has_report(view);
}

void clv_attach_close(const struct clv_view *view)
{
	if (has_socket(view))
		close(view->socket_fd);
	if (has_doorbell(view))
		close(view->doorbell_fd);
	if (has_report(view))
		close(view->report_fd);
}

/* Writes without SIGPIPE: the agent may have died just now, and writing to a pipe without
 * a reader would kill the program by a signal that it did not cause. */
static bool write_quietly(int fd)
{
	static const struct timespec at_once = {0};
	sigset_t broken, before, pending;
	bool had_one, is_written;
	int code;

	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken, &before);
	had_one = sigismember(&before, SIGPIPE) && sigpending(&pending) == 0 &&
		  sigismember(&pending, SIGPIPE);
	is_written = write(fd, "", 1) == 1;
	code = errno;
	if (!is_written && code == EPIPE && !had_one)
		sigtimedwait(&broken, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = code;
	return is_written;
}

bool clv_attach_ring(const struct clv_view *view)
{
	if (!has_doorbell(view))
		return false;
	return write_quietly(view->doorbell_fd) || errno == EAGAIN;
}

bool clv_attach_tell(
	const struct clv_view *view, const void *message, size_t n_bytes, const int *fd)
{
	struct pollfd room = {.fd = view->socket_fd, .events = POLLOUT};

	return has_socket(view) && poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) &&
	       clv_socket_send(view->socket_fd, message, n_bytes, fd, fd ? 1 : 0) == 0;
}

void clv_attach_wait_for_room(const struct clv_view *view, int timeout_ms)
{
	struct pollfd room = {.fd = view->socket_fd, .events = POLLOUT};

	poll(&room, has_socket(view), timeout_ms);
}
