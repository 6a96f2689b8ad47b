/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes with a timeout, whose output is read by the event loop. */
#include "agent/os/child.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX_BYTES (1u << 20)
#define READ_BYTES 65536u

extern char **environ;

struct clv_child {
	pid_t pid;
	int fd;
	sd_event_source *end, *output, *timer;
	clv_child_fn done;
	void *userdata;
	char *text;
	size_t n_bytes;
	bool is_done;
};

static void finish(struct clv_child *child, struct clv_child_end *end)
{
	if (child->is_done)
		return;
	child->is_done = true;
	child->timer = sd_event_source_disable_unref(child->timer);
	child->output = sd_event_source_disable_unref(child->output);
	end->output = child->text;
	end->n_bytes = child->n_bytes;
	child->done(child->userdata, end);
}

/* Returns what read() returned; also 0 if the output is too long or memory is short. */
static ssize_t read_more(struct clv_child *child)
{
	char *text = realloc(child->text, child->n_bytes + READ_BYTES);
	ssize_t got;

	if (!text)
		return 0;
	child->text = text;
	if (child->n_bytes > OUTPUT_MAX_BYTES)
		return 0;
	got = read(child->fd, text + child->n_bytes, READ_BYTES);
	if (got > 0)
		child->n_bytes += (size_t)got;
	return got;
}

static int on_output(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	if (read_more(userdata) == 0)
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return 0;
}

static int on_end(sd_event_source *source, const siginfo_t *info, void *userdata)
{
	struct clv_child *child = userdata;
	struct clv_child_end end = {0};

	/* A child that was freed before its end: only this event source, which reaps it,
	 * is left. */
	if (!child)
		return sd_event_source_set_floating(source, false);
	child->pid = 0;
	if (child->is_done)
		return 0;
	while (read_more(child) > 0)
		;
	if (info->si_code == CLD_EXITED)
		end.status = info->si_status;
	else
		end.signal = info->si_status;
	finish(child, &end);
	return 0;
}

static int on_timeout(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_child *child = userdata;
	struct clv_child_end end = {.is_timed_out = true};

	kill(-child->pid, SIGKILL);
	finish(child, &end);
	return 0;
}

static int spawn(
	struct clv_child *child, const char *path, char *const *arguments, int output_fd)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int r;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(
		&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	r = posix_spawn(&child->pid, path, &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

static int start(struct clv_child *child, sd_event *event, const char *path,
	char *const *arguments, uint64_t timeout_ns)
{
	int fds[2], r;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	child->fd = fds[0];
	/* The child's end of the pipe is blocking: its writes must wait for the agent
	 * instead of failing. */
	fcntl(fds[1], F_SETFL, 0);
	r = spawn(child, path, arguments, fds[1]);
	close(fds[1]);
	if (r < 0) {
		child->pid = 0;
		return r;
	}
	r = sd_event_add_io(event, &child->output, child->fd, EPOLLIN, on_output, child);
	if (r >= 0)
		r = sd_event_add_child(
			event, &child->end, child->pid, WEXITED, on_end, child);
	if (r >= 0)
		r = sd_event_add_time_relative(event, &child->timer, CLOCK_MONOTONIC,
			timeout_ns / CLV_NS_PER_US, 0, on_timeout, child);
	return r;
}

int clv_child_start(sd_event *event, const char *path, char *const *arguments,
	uint64_t timeout_ns, clv_child_fn done, void *userdata, struct clv_child **ret,
	struct clv_error *err)
{
	struct clv_child *child = calloc(1, sizeof(*child));
	int r;

	if (!child)
		return clv_error_errno(err, ENOMEM, "cannot start %s", path);
	*child = (struct clv_child){.fd = -1, .done = done, .userdata = userdata};
	r = start(child, event, path, arguments, timeout_ns);
	if (r < 0) {
		clv_child_free(child);
		return clv_error_errno(err, -r, "cannot start %s", path);
	}
	*ret = child;
	return 0;
}

/* A child that hangs in a driver's kernel code ends late, and must not block the agent:
 * the loop reaps it then. */
static void leave_to_loop(struct clv_child *child)
{
	sd_event_source_set_userdata(child->end, NULL);
	sd_event_source_set_floating(child->end, true);
	child->end = sd_event_source_unref(child->end);
}

struct clv_child *clv_child_free(struct clv_child *child)
{
	if (!child)
		return NULL;
	sd_event_source_disable_unref(child->timer);
	sd_event_source_disable_unref(child->output);
	if (child->pid > 0)
		kill(-child->pid, SIGKILL);
	if (child->pid > 0 && child->end)
		leave_to_loop(child);
	sd_event_source_disable_unref(child->end);
	if (child->fd >= 0)
		close(child->fd);
	free(child->text);
	free(child);
	return NULL;
}
