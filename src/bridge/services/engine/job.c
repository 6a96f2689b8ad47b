/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes on the event loop.  Output goes to unlinked files, so that a program
 * that forks, as podman does, keeps no pipe of the supervisor open. */
#include "bridge/services/engine/job.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#define OUTPUT_MAX_BYTES (64u << 10)
#define NOT_STARTED 127
#define INHERITED_MAX 64
#define CALL_MAX_BYTES (4u << 20)
#define CALL_MAX_MS 120000

struct clv_job {
	sd_event_source *child;
	pid_t pid;
	int output_fd, error_fd;
	void (*on_end)(void *userdata, int code, const char *output, const char *why);
	void *userdata;
};

/* Descriptors that the program inherits. */
struct inherited {
	const int *fds;
	size_t n;
	int first;
};

/* In the child.  Copies above all places first: one of the descriptors may have the place
 * of another. */
static void inherit(const struct inherited *inherited)
{
	int last = inherited->first + (int)inherited->n;
	int copies[INHERITED_MAX];

	for (size_t i = 0; i < inherited->n; i++)
		copies[i] = fcntl(inherited->fds[i], F_DUPFD_CLOEXEC, last);
	for (size_t i = 0; i < inherited->n; i++) {
		if (dup2(copies[i], inherited->first + (int)i) >= 0)
			continue;
		dprintf(2, "cannot pass on descriptor %d: %s\n", inherited->fds[i],
			strerror(errno));
		_exit(NOT_STARTED);
	}
}

/* In the child.  Of its own group, so that a signal to the supervisor's does not reach
 * it; it ends with the supervisor, whose successor would not know of it.  What it has put
 * into the background goes on. */
static void become(char *const *argv, int output_fd, int error_fd,
	const struct inherited *inherited, pid_t parent)
{
	int input_fd = open("/dev/null", O_RDONLY);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(NOT_STARTED);
	setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(input_fd, 0);
	dup2(output_fd, 1);
	dup2(error_fd, 2);
	inherit(inherited);
	execvp(argv[0], argv);
	dprintf(2, "cannot start %s: %s\n", argv[0], strerror(errno));
	_exit(NOT_STARTED);
}

/* Returns 0 or an errno. */
static int spawn(char *const *argv, int output_fd, int error_fd,
	const struct inherited *inherited, pid_t *ret)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0)
		become(argv, output_fd, error_fd, inherited, parent);
	*ret = pid;
	return pid < 0 ? errno : 0;
}

/* A file in memory that takes no more, and the program that writes more has an error: a
 * container chooses how much its health check writes. */
static int open_output(size_t max_bytes)
{
	int fd = memfd_create("cleave-output", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (ftruncate(fd, (off_t)max_bytes) < 0 ||
			       fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The caller frees it; NULL: out of memory. */
static char *read_output(int fd, size_t max_bytes)
{
	off_t written = lseek(fd, 0, SEEK_CUR);
	size_t n_bytes =
		written > 0 && (size_t)written < max_bytes ? (size_t)written : max_bytes;
	char *text = malloc(n_bytes + 1);
	ssize_t n;

	if (!text)
		return NULL;
	n = pread(fd, text, n_bytes, 0);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Removes line breaks at the end, and returns the last line. */
static char *cut_line(char *text)
{
	char *end = text + strlen(text), *line;

	while (end > text && (end[-1] == '\n' || end[-1] == ' '))
		*--end = '\0';
	line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

/* The last line of what a program wrote to standard error that says something, for
 * people: without "Error: " (podman) and "[ALERT] (PID) : [...] " (HAProxy). */
static void last_line(char *text)
{
	char *line = cut_line(text), *colon;

	if (line > text && strstr(line, "Exiting.")) {
		line[-1] = '\0';
		line = cut_line(text);
	}
	colon = strstr(line, ") : ");
	if (strncmp(line, "[ALERT]", 7) == 0 && colon)
		line = colon + 4;
	if (strncmp(line, "Error: ", 7) == 0)
		line += 7;
	memmove(text, line, strlen(line) + 1);
	clv_text_make_printable(text);
}

static int code_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int on_child(sd_event_source *source, const siginfo_t *info, void *userdata)
{
	struct clv_job *job = userdata;
	_cleanup_free_ char *output = read_output(job->output_fd, OUTPUT_MAX_BYTES);
	_cleanup_free_ char *why = read_output(job->error_fd, OUTPUT_MAX_BYTES);
	void (*on_end)(void *, int, const char *, const char *) = job->on_end;
	void *owner = job->userdata;
	int code = info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status;

	if (why)
		last_line(why);
	job->pid = 0;
	clv_job_free(job);
	on_end(owner, code, output ? output : "", why ? why : "");
	return 0;
}

struct clv_job *clv_job_start(struct sd_event *event, char *const *argv,
	void (*on_end)(void *userdata, int code, const char *output, const char *why),
	void *userdata, struct clv_error *err)
{
	struct clv_job *job = calloc(1, sizeof(*job));
	int r;

	if (!job) {
		clv_error_errno(err, ENOMEM, "cannot start %s", argv[0]);
		return NULL;
	}
	job->on_end = on_end;
	job->userdata = userdata;
	job->output_fd = open_output(OUTPUT_MAX_BYTES);
	job->error_fd = open_output(OUTPUT_MAX_BYTES);
	r = spawn(argv, job->output_fd, job->error_fd, &(struct inherited){}, &job->pid);
	if (r == 0)
		r = -sd_event_add_child(
			event, &job->child, job->pid, WEXITED, on_child, job);
	if (r != 0) {
		clv_error_errno(err, r, "cannot start %s", argv[0]);
		return clv_job_free(job);
	}
	return job;
}

struct clv_job *clv_job_free(struct clv_job *job)
{
	if (!job)
		return NULL;
	sd_event_source_disable_unref(job->child);
	if (job->pid > 0) {
		kill(job->pid, SIGKILL);
		waitpid(job->pid, NULL, 0);
	}
	if (job->output_fd >= 0)
		close(job->output_fd);
	if (job->error_fd >= 0)
		close(job->error_fd);
	free(job);
	return NULL;
}

/* All services wait for it. */
static bool ends_in_time(pid_t pid)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd wait = {.fd = pidfd, .events = POLLIN};

	return pidfd < 0 || poll(&wait, 1, CALL_MAX_MS) != 0;
}

int clv_job_call(char *const *argv, char **ret_output, struct clv_error *err)
{
	return clv_job_call_with(argv, NULL, 0, 0, ret_output, err);
}

int clv_job_call_with(char *const *argv, const int *fds, size_t n, int first_fd,
	char **ret_output, struct clv_error *err)
{
	_cleanup_close_ int output_fd = open_output(CALL_MAX_BYTES);
	_cleanup_close_ int error_fd = open_output(OUTPUT_MAX_BYTES);
	_cleanup_free_ char *why = NULL;
	int status = 0, code;
	bool is_late;
	pid_t pid;

	assert(n <= INHERITED_MAX);
	code = spawn(
		argv, output_fd, error_fd, &(struct inherited){fds, n, first_fd}, &pid);
	if (code != 0)
		return clv_error_errno(err, code, "cannot start %s", argv[0]);
	is_late = !ends_in_time(pid);
	/* With what it has started, as plugins of the network. */
	if (is_late && kill(-pid, SIGKILL) < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	code = code_of(status);
	if (code == 0) {
		if (ret_output)
			*ret_output = read_output(output_fd, CALL_MAX_BYTES);
		return ret_output && !*ret_output
			       ? clv_error_errno(err, ENOMEM, "%s", argv[0])
			       : 0;
	}
	if (is_late)
		return clv_error_set(err, -ETIMEDOUT,
			"%s %s did not end within two minutes", argv[0], argv[1]);
	why = read_output(error_fd, OUTPUT_MAX_BYTES);
	if (why)
		last_line(why);
	return clv_error_set(err, -EIO, "%s %s: %.300s", argv[0], argv[1],
		why && *why ? why : "it failed without a word");
}
