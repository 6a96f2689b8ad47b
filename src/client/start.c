/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the user's own agent on demand.  A lock in the runtime folder makes two commands
 * that are started together start one agent.  The agent leaves the caller's session and
 * process tree (double fork, setsid), so that neither Ctrl-C nor the end of the terminal
 * touches it.  It is not restarted here: it ends when idle and is started on demand, and
 * cleave run watches it while programs run in its leases (cli/launch/guard.c). */
#include "client/start.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/paths.h"
#include "client/error.h"
#include "client/locate.h"

#include <assert.h>
#include <cleave.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define IDLE_EXIT_ARGUMENT CLV_START_ON_DEMAND "30"
#define READY_TIMEOUT_MS 20000
#define LOCK_POLL_MS 5
#define READY_FD 3

/* Places relative to the running program: installed side by side, installed with the
 * agent in libexec, and a build tree. */
static const char *const relative_paths[] = {
	"cleaved",
	"../libexec/cleave/cleaved",
	"../sbin/cleaved",
	"../agent/cleaved",
};

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool find_beside(char ret[CLV_PATH_MAX])
{
	char self[CLV_PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (length <= 0)
		return false;
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	for (size_t i = 0; i < CLV_ARRAY_SIZE(relative_paths); i++) {
		int n = snprintf(ret, CLV_PATH_MAX, "%s/%s", self, relative_paths[i]);

		if (n > 0 && n < CLV_PATH_MAX && is_program(ret))
			return true;
	}
	return false;
}

static bool find_in_path(char ret[CLV_PATH_MAX])
{
	const char *path = getenv("PATH");

	for (const char *p = path; p && *p; p += strcspn(p, ":"), p += *p == ':') {
		int n = (int)strcspn(p, ":");

		if (n == 0)
			continue;
		n = snprintf(ret, CLV_PATH_MAX, "%.*s/cleaved", n, p);
		if (n > 0 && n < CLV_PATH_MAX && is_program(ret))
			return true;
	}
	return false;
}

static int find_agent(char ret[CLV_PATH_MAX], struct clv_client_error *err)
{
	const char *chosen = getenv("CLEAVE_AGENT");

	if (chosen && chosen[0]) {
		snprintf(ret, CLV_PATH_MAX, "%s", chosen);
		if (is_program(ret))
			return 0;
		return clv_client_fail(err, -ENOENT, "unreachable",
			"the agent %s (from CLEAVE_AGENT) is not a program: name the "
			"path of cleaved there, or unset it",
			chosen);
	}
	if (find_beside(ret) || find_in_path(ret))
		return 0;

	return clv_client_fail(err, -ENOENT, "unreachable",
		"no agent runs and cleaved is not installed beside this program "
		"or in "
		"PATH: install it, or name it in CLEAVE_AGENT");
}

int clv_client_agent_program(char ret[CLV_CLIENT_PATH_MAX], struct clv_client_error *err)
{
	static_assert(CLV_CLIENT_PATH_MAX == CLV_PATH_MAX, "the same");
	return find_agent(ret, err);
}

/* The agent's command line. */
struct command {
	char program[CLV_PATH_MAX];
	char ready[32];
	char sim[CLV_PATH_MAX + 32];
	char runtime[CLV_PATH_MAX + 32];
	char state[CLV_PATH_MAX + 32];
	char *argv[8];
};

static void fill_command(const struct clv_locate *where, struct command *ret)
{
	static char name[] = "cleaved", idle[] = IDLE_EXIT_ARGUMENT;
	size_t n = 0;

	snprintf(ret->ready, sizeof(ret->ready), "--ready-fd=%d", READY_FD);
	snprintf(ret->sim, sizeof(ret->sim), "--sim=%s", where->sim);
	snprintf(ret->runtime, sizeof(ret->runtime), "--runtime-dir=%s", where->folder);
	snprintf(ret->state, sizeof(ret->state), "--state-dir=%s", where->state);
	ret->argv[n++] = name;
	ret->argv[n++] = idle;
	ret->argv[n++] = ret->ready;
	if (where->sim[0]) {
		ret->argv[n++] = ret->sim;
		ret->argv[n++] = ret->runtime;
		ret->argv[n++] = ret->state;
	}
	ret->argv[n] = NULL;
}

/* In the child: drops the caller's signals, folder and descriptors, but not its
 * environment, and executes the agent. */
static void __attribute__((noreturn))
become_agent(const struct command *command, int ready_fd, int log_fd)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chdir("/") < 0 || dup2(log_fd, STDERR_FILENO) < 0 ||
		dup2(log_fd, STDOUT_FILENO) < 0)
		_exit(127);
	if (ready_fd == READY_FD)
		fcntl(ready_fd, F_SETFD, 0);
	else if (dup2(ready_fd, READY_FD) < 0)
		_exit(127);
	close(STDIN_FILENO);
	if (open("/dev/null", O_RDONLY) != STDIN_FILENO)
		_exit(127);
	close_range(READY_FD + 1, ~0U, 0);
	/* The agent must not run in a share, even if the caller does. */
	unsetenv("CLEAVE_LEASE");
	unsetenv("OPENCL_LAYERS");
	unsetenv("OCL_ICD_LAYERS");
	execv(command->program, command->argv);
	dprintf(STDERR_FILENO, "cannot execute %s: %s\n", command->program,
		strerror(errno));
	_exit(127);
}

/* Returns the read end of the pipe that the agent writes to when it serves. */
static int spawn(const struct command *command, int log_fd, struct clv_client_error *err)
{
	int pipe_fds[2], status;
	pid_t child;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return clv_client_fail(err, -errno, "internal", "cannot make a pipe: %s",
			strerror(errno));
	child = fork();
	if (child == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		become_agent(command, pipe_fds[1], log_fd);
	}
	close(pipe_fds[1]);
	if (child < 0) {
		close(pipe_fds[0]);
		return clv_client_fail(
			err, -errno, "internal", "cannot fork: %s", strerror(errno));
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return pipe_fds[0];
}

static int fail_with_log(
	const char *what, const char *log_path, int log_fd, struct clv_client_error *err)
{
	char tail[401] = "";
	off_t end = lseek(log_fd, 0, SEEK_END);
	off_t from = end > 400 ? end - 400 : 0;
	ssize_t n = pread(log_fd, tail, sizeof(tail) - 1, from);
	char *line;

	while (n > 0 && tail[n - 1] == '\n')
		n--;
	tail[n > 0 ? n : 0] = '\0';
	line = strrchr(tail, '\n');
	line = line ? line + 1 : tail;
	return clv_client_fail(err, -ECHILD, "unreachable",
		"the agent %s: %s (its log is %s; cleave doctor says what is wrong)",
		what, line[0] ? line : "without a message", log_path);
}

static int fail_interrupted(struct clv_client_error *err)
{
	return clv_client_fail(err, -EINTR, "interrupted", "interrupted");
}

static int wait_ready(int ready_fd, int interrupt_fd, const char *log_path, int log_fd,
	struct clv_client_error *err)
{
	uint64_t until_ns = clv_clock_ns() + READY_TIMEOUT_MS * CLV_NS_PER_MS;
	struct pollfd fds[] = {{.fd = ready_fd, .events = POLLIN},
		{.fd = interrupt_fd > 0 ? interrupt_fd : -1, .events = POLLIN}};
	char byte;

	for (;;) {
		uint64_t now_ns = clv_clock_ns();
		int left_ms = now_ns < until_ns
				      ? (int)((until_ns - now_ns) / CLV_NS_PER_MS)
				      : 0;
		int n = poll(fds, CLV_ARRAY_SIZE(fds), left_ms);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			return fail_with_log(
				"was not ready after 20 s", log_path, log_fd, err);
		break;
	}
	if (fds[1].revents)
		return fail_interrupted(err);
	if (read(ready_fd, &byte, 1) != 1)
		return fail_with_log("did not start", log_path, log_fd, err);

	return 0;
}

static int start_locked(
	const struct clv_locate *where, int interrupt_fd, struct clv_client_error *err)
{
	_cleanup_free_ struct command *command = calloc(1, sizeof(*command));
	char log_path[CLV_PATH_MAX + 32];
	_cleanup_close_ int ready_fd = -1;
	_cleanup_close_ int log_fd = -1;
	int r;

	if (!command)
		return clv_client_fail(err, -ENOMEM, "internal", "out of memory");
	r = find_agent(command->program, err);
	if (r < 0)
		return r;
	fill_command(where, command);
	snprintf(log_path, sizeof(log_path), "%s/cleaved.log", where->folder);
	log_fd = open(log_path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (log_fd < 0)
		return clv_client_fail(err, -errno, "internal", "cannot write %s: %s",
			log_path, strerror(errno));
	ready_fd = spawn(command, log_fd, err);
	if (ready_fd < 0)
		return ready_fd;

	return wait_ready(ready_fd, interrupt_fd, log_path, log_fd, err);
}

/* Waits for the lock or an interrupt. */
static int lock_start(int lock_fd, int interrupt_fd, struct clv_client_error *err)
{
	struct pollfd interrupt = {
		.fd = interrupt_fd > 0 ? interrupt_fd : -1, .events = POLLIN};

	while (flock(lock_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return clv_client_fail(err, -errno, "internal",
				"cannot lock start.lock in the runtime folder: %s",
				strerror(errno));
		if (poll(&interrupt, 1, LOCK_POLL_MS) > 0)
			return fail_interrupted(err);
	}
	return 0;
}

/* Checks the user's runtime folder again, since its owner controls which agent is used.
 */
static int make_folder(const struct clv_locate *where, struct clv_client_error *err)
{
	char folder[CLV_PATH_MAX];
	struct clv_error why;
	int r = clv_path_user_runtime(true, folder, sizeof(folder), &why);

	if (r >= 0)
		r = clv_path_make(where->folder, 0700, &why);
	if (r >= 0)
		return 0;
	return clv_client_fail(
		err, r, r == -EPERM ? "not_permitted" : "internal", "%s", why.msg);
}

int clv_start_agent(
	const struct clv_locate *where, int interrupt_fd, struct clv_client_error *err)
{
	char lock_path[CLV_PATH_MAX + 32];
	_cleanup_close_ int lock_fd = -1;
	int r = make_folder(where, err);

	if (r < 0)
		return r;
	snprintf(lock_path, sizeof(lock_path), "%s/start.lock", where->folder);
	lock_fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock_fd < 0)
		return clv_client_fail(err, -errno, "internal", "cannot make %s: %s",
			lock_path, strerror(errno));
	r = lock_start(lock_fd, interrupt_fd, err);
	if (r < 0)
		return r;
	for (unsigned int i = 0; i < where->n_paths; i++) {
		if (clv_locate_probe(where->paths[i], CLV_LOCATE_WAIT_MS, NULL) > 0)
			return 0;
	}

	return start_locked(where, interrupt_fd, err);
}
