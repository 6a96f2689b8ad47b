/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"
#include "machine.h"
#include "vendor.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* The GPUs of a node, as a process, for one vendor: cuda-double-gpu, hip-double-gpu.
 *
 * PROGRAM FOLDER              simulates them until it is ended
 * PROGRAM --ask FOLDER stats  prints what it counted; or trace */

#define PROGRAM DGP_VENDOR "-double-gpu"

static void watch(struct machine *m, int fd, void *who)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = who};

	epoll_ctl(m->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void accept_process(struct machine *m)
{
	int fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer = {0};
	socklen_t bytes = sizeof(peer);
	struct process *p;

	if (fd < 0)
		return;
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes);
	p = dgp_process_new(m, fd, peer.pid);
	watch(m, p->fd, p);
	watch(m, p->pidfd, p);
}

static bool is_readable(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);

	return n >= 0 || errno != EAGAIN;
}

static void hear(struct machine *m, struct process *p)
{
	/* Its socket has a message or, if it is empty, the process has died. */
	if (p->gone)
		return;
	if (is_readable(p->fd))
		dgp_process_answer(m, p);
	else
		dgp_process_end(m, p);
}

static void empty(int fd)
{
	uint64_t value;

	if (read(fd, &value, sizeof(value)) < 0 && errno != EAGAIN)
		abort();
}

static void handle(struct machine *m, void *who)
{
	if (who == &m->bell)
		empty(m->bell);
	else if (who == &m->timer)
		empty(m->timer);
	else if (who == &m->listener)
		accept_process(m);
	else
		hear(m, who);
}

static void set_timer(const struct machine *m, uint64_t when_ns)
{
	struct itimerspec at = {.it_value = {0}};

	if (when_ns != DGP_NEVER) {
		at.it_value.tv_sec = (time_t)(when_ns / 1000000000);
		at.it_value.tv_nsec = (long)(when_ns % 1000000000);
	}
	timerfd_settime(m->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void turn(struct machine *m)
{
	struct epoll_event events[32];
	int n = epoll_wait(m->epoll, events, 32, -1);

	dgp_advance(m, dgp_now());
	for (int i = 0; i < n; i++)
		handle(m, events[i].data.ptr);
	dgp_advance(m, dgp_now());
	if (m->memory_changed)
		dgp_tell(m);
	set_timer(m, dgp_wake(m));
}

static int play(const char *folder)
{
	static struct machine m;
	struct sched_param priority = {.sched_priority = 1};

	if (chdir(folder) < 0 || !dgp_machine_init(&m)) {
		fprintf(stderr, PROGRAM ": %s has no file '%s'\n", folder,
			dgp_vendor.node_file);
		return 1;
	}
	m.epoll = epoll_create1(EPOLL_CLOEXEC);
	m.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	m.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	m.listener = dgp_link_listen();
	if (m.listener < 0) {
		fprintf(stderr, PROGRAM ": no socket in %s: %s\n", folder,
			strerror(errno));
		return 1;
	}
	watch(&m, m.bell, &m.bell);
	watch(&m, m.timer, &m.timer);
	watch(&m, m.listener, &m.listener);
	/* A GPU does not compete for processors; where the user lacks the right this has
	 * no effect. */
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority);
	puts("ready");
	fflush(stdout);
	for (;;)
		turn(&m);
}

static int ask(const char *folder, const char *what)
{
	struct dgp_message message = {.request = DGP_ASK};
	struct dgp_files files = {0};
	int fd = dgp_link_open(folder);
	char buffer[65536];
	ssize_t n;

	snprintf(message.text, sizeof(message.text), "%s", what);
	if (fd < 0 || !dgp_link_send(fd, &message, NULL) ||
		!dgp_link_receive(fd, &message, &files) || message.result || !files.n) {
		fprintf(stderr, PROGRAM ": no process answers '%s' in %s\n", what,
			folder);
		return 1;
	}
	for (off_t at = 0; (n = pread(files.fds[0], buffer, sizeof(buffer), at)) > 0;
		at += n)
		fwrite(buffer, 1, (size_t)n, stdout);
	return 0;
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc == 4 && strcmp(argv[1], "--ask") == 0)
		return ask(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "--with-parent") == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		return play(argv[2]);
	}
	if (argc == 2)
		return play(argv[1]);
	fputs(PROGRAM " [--with-parent] FOLDER, or --ask FOLDER stats|trace\n", stderr);
	return 64;
}
