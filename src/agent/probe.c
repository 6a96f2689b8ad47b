/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the backends' enumeration in a child: this same program, started anew, so that
 * neither the agent's threads nor its descriptors are in a driver's reach.  The child
 * answers with JSON on a pipe and is killed when it takes too long. */
#include "agent/probe.h"

#include "agent/device-json.h"
#include "backend/backend.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define TIMEOUT_NS (10 * CLV_NS_PER_S)
#define ANSWER_MAX_BYTES (1u << 20)
#define READ_BYTES 65536u

extern char **environ;

struct clv_probe {
	pid_t pid;
	int fd;
	sd_event_source *child, *output, *timer;
	clv_probe_fn done;
	void *userdata;
	char *answer;
	size_t n_bytes;
	bool is_timed_out;
	bool is_done;
};

static const struct clv_backend_ops *const backends[] = {&clv_backend_opencl};

static void probe_backend(
	const struct clv_backend_ops *ops, json_t *items, json_t *problems)
{
	struct clv_device_list list = {0};
	struct clv_backend *backend = NULL;
	struct clv_error err = {0};
	int r = ops->probe(&backend, &err);

	if (r >= 0) {
		r = ops->enumerate(backend, &list, &err);
		for (size_t i = 0; i < list.n_items; i++)
			json_array_append_new(items, clv_device_to_json(&list.items[i]));
	}
	/* The backend is not freed: unloading drivers is one more way to crash, and the
	 * process ends anyway. */
	if (r < 0)
		json_array_append_new(problems, json_string(err.msg));
	free(list.items);
}

int clv_probe_main(void)
{
	json_t *items = json_array(), *problems = json_array(), *answer;
	int answer_fd = dup(STDOUT_FILENO), r;

	/* The agent's gates and layers have no business here, and drivers print. */
	unsetenv("OPENCL_LAYERS");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(backends); i++)
		probe_backend(backends[i], items, problems);
	answer = json_pack("{s:o,s:o}", "items", items, "problems", problems);
	r = json_dumpfd(answer, answer_fd, JSON_COMPACT);
	/* Drivers' exit handlers are no use to anybody and may hang. */
	_exit(r < 0 ? 1 : 0);
}

static void finish(struct clv_probe *probe, const json_t *answer)
{
	if (probe->is_done)
		return;
	probe->is_done = true;
	probe->timer = sd_event_source_disable_unref(probe->timer);
	probe->output = sd_event_source_disable_unref(probe->output);
	probe->done(probe->userdata, answer);
}

static void fail(struct clv_probe *probe, const char *what)
{
	json_t *answer = json_pack("{s:[],s:[s]}", "items", "problems", what);

	finish(probe, answer);
	json_decref(answer);
}

/* What read() returned: 0 at the end of the answer, also when it is too long. */
static ssize_t read_more(struct clv_probe *probe)
{
	char *answer = realloc(probe->answer, probe->n_bytes + READ_BYTES);
	ssize_t got;

	if (!answer)
		return 0;
	probe->answer = answer;
	if (probe->n_bytes > ANSWER_MAX_BYTES)
		return 0;
	got = read(probe->fd, answer + probe->n_bytes, READ_BYTES);
	if (got > 0)
		probe->n_bytes += (size_t)got;
	return got;
}

static int on_output(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	if (read_more(userdata) == 0)
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return 0;
}

static int on_exit_of_child(
	sd_event_source *source, const siginfo_t *info, void *userdata)
{
	struct clv_probe *probe = userdata;
	char what[256];
	json_t *answer;

	probe->pid = 0;
	if (probe->is_timed_out)
		return 0;
	while (read_more(probe) > 0)
		;
	if (info->si_code != CLD_EXITED) {
		snprintf(what, sizeof(what),
			"an OpenCL driver crashed (%s) when asked for its devices: find "
			"out which with clinfo and remove it",
			strsignal(info->si_status));
		fail(probe, what);
		return 0;
	}
	answer = probe->n_bytes > 0 ? json_loadb(probe->answer, probe->n_bytes, 0, NULL)
				    : NULL;
	if (json_is_array(json_object_get(answer, "items")))
		finish(probe, answer);
	else
		fail(probe, "the OpenCL drivers ended the process that asked for their "
			    "devices: see whether clinfo works");
	json_decref(answer);
	return 0;
}

static int on_timeout(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_probe *probe = userdata;

	probe->is_timed_out = true;
	kill(-probe->pid, SIGKILL);
	fail(probe, "the OpenCL drivers did not answer within 10 s: see whether clinfo "
		    "works");
	return 0;
}

static int spawn(struct clv_probe *probe, int output_fd)
{
	char *arguments[] = {(char[]){"cleaved"}, (char[]){"--probe"}, NULL};
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
	r = posix_spawn(
		&probe->pid, "/proc/self/exe", &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

static int start(struct clv_probe *probe, sd_event *event)
{
	int fds[2], r;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	probe->fd = fds[0];
	/* The child's writes must wait for us instead of failing. */
	fcntl(fds[1], F_SETFL, 0);
	r = spawn(probe, fds[1]);
	close(fds[1]);
	if (r < 0) {
		probe->pid = 0;
		return r;
	}
	r = sd_event_add_io(event, &probe->output, probe->fd, EPOLLIN, on_output, probe);
	if (r >= 0)
		r = sd_event_add_child(event, &probe->child, probe->pid, WEXITED,
			on_exit_of_child, probe);
	if (r >= 0)
		r = sd_event_add_time_relative(event, &probe->timer, CLOCK_MONOTONIC,
			TIMEOUT_NS / CLV_NS_PER_US, 0, on_timeout, probe);
	return r;
}

int clv_probe_start(sd_event *event, clv_probe_fn done, void *userdata,
	struct clv_probe **ret, struct clv_error *err)
{
	struct clv_probe *probe = calloc(1, sizeof(*probe));
	int r;

	if (!probe)
		return clv_error_errno(err, ENOMEM, "cannot ask for the devices");
	*probe = (struct clv_probe){.fd = -1, .done = done, .userdata = userdata};
	r = start(probe, event);
	if (r < 0) {
		clv_probe_free(probe);
		return clv_error_errno(err, -r, "cannot ask for the devices");
	}
	*ret = probe;
	return 0;
}

struct clv_probe *clv_probe_free(struct clv_probe *probe)
{
	if (!probe)
		return NULL;
	sd_event_source_disable_unref(probe->timer);
	sd_event_source_disable_unref(probe->output);
	sd_event_source_disable_unref(probe->child);
	if (probe->pid > 0) {
		kill(-probe->pid, SIGKILL);
		/* A driver that hangs in the kernel must not keep us: init reaps it. */
		waitpid(probe->pid, NULL, WNOHANG);
	}
	if (probe->fd >= 0)
		close(probe->fd);
	free(probe->answer);
	free(probe);
	return NULL;
}
