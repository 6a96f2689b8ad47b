/* SPDX-License-Identifier: Apache-2.0 */
/* The agent as a daemon: folders, the lock of the runtime folder, background, readiness.
 */
#include "agent/config/daemon.h"

#include "agent/config/config.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

/* For the agent and a few leases.  With fewer it would start, and then refuse programs.
 */
#define NEEDED_FILES 64
#define LOCK_TRIES 500
#define LOCK_PAUSE_NS 10000000
#define LONGEST_SOCKET "/lease/l0123456789abcdef/door/lease.sock"
#define EXIT_CODE_FAILED 125

/* Numbers below 3 are ignored. */
static void close_all_but(int one, int other)
{
	int kept[] = {one < other ? one : other, one < other ? other : one};
	unsigned int from = 3;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(kept); i++) {
		if (kept[i] < 3)
			continue;
		if ((unsigned int)kept[i] > from)
			close_range(from, (unsigned int)kept[i] - 1, 0);
		from = (unsigned int)kept[i] + 1;
		fcntl(kept[i], F_SETFD, FD_CLOEXEC);
	}
	close_range(from, ~0u, 0);
}

int clv_daemon_raise_files(struct clv_error *err)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return 0;
	if (files.rlim_max < NEEDED_FILES)
		return clv_error_set(err, -EMFILE,
			"the agent needs %d open files and the limit is %llu: raise the "
			"limit (ulimit -n)",
			NEEDED_FILES, (unsigned long long)files.rlim_max);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	return 0;
}

void clv_daemon_prepare(const struct clv_agent_config *config)
{
	sigset_t signals;

	close_all_but(config->ready_fd, config->api_fd);
	umask(config->is_system ? 022 : 077);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
}

static void wait_for_child(int fd, pid_t child)
{
	char byte;
	int status;

	if (read(fd, &byte, 1) == 1)
		_exit(0);
	if (waitpid(child, &status, 0) == child && WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	_exit(EXIT_CODE_FAILED);
}

int clv_daemon_detach(const struct clv_agent_config *config, struct clv_error *err)
{
	int fds[2], null_fd;
	pid_t child;

	if (config->is_foreground)
		return -1;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return clv_error_errno(err, errno, "cannot run in the background");
	child = fork();
	if (child < 0)
		return clv_error_errno(err, errno, "cannot run in the background");
	if (child > 0) {
		close(fds[1]);
		wait_for_child(fds[0], child);
	}
	close(fds[0]);
	setsid();
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd >= 0) {
		dup2(null_fd, STDIN_FILENO);
		dup2(null_fd, STDOUT_FILENO);
		close(null_fd);
	}
	if (chdir("/") < 0)
		return clv_error_errno(err, errno, "cannot run in the background");
	return fds[1];
}

int clv_daemon_redirect(const struct clv_agent_config *config)
{
	char path[CLV_FOLDER_MAX + 16];
	int fd, before;

	if (config->is_foreground)
		return -1;

	snprintf(path, sizeof(path), "%s/cleaved.log", config->runtime);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		0600);
	if (fd >= 0)
		clv_log_set_sink(clv_log_to_bounded_file);
	else
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	dup2(fd, STDERR_FILENO);
	close(fd);
	return before;
}

void clv_daemon_report_ready(const struct clv_agent_config *config, int parent_fd)
{
	int fds[] = {config->ready_fd, parent_fd};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(fds); i++) {
		if (fds[i] < 0)
			continue;
		/* The process that waits may have ended: the agent continues. */
		if (write(fds[i], "1", 1) != 1)
			clv_log_debug("readiness: the descriptor has no reader");
		close(fds[i]);
	}
}

static int check_folder(const char *path, const char *option, struct clv_error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return clv_error_errno(err, errno, "cannot use %s", path);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
		st.st_mode & (S_IWGRP | S_IWOTH))
		return clv_error_set(err, -EPERM,
			"%s must be a folder that you own and others cannot write: "
			"choose another with --%s",
			path, option);
	return 0;
}

static int find_runtime(struct clv_agent_config *config, struct clv_error *err)
{
	int r;

	if (config->runtime[0] == '\0' && !config->is_system)
		return clv_path_user_runtime(
			true, config->runtime, sizeof(config->runtime), err);
	if (config->runtime[0] == '\0')
		snprintf(config->runtime, sizeof(config->runtime), "%s",
			CLV_PATH_SYSTEM_RUNTIME);
	r = clv_path_make(config->runtime, config->is_system ? 0755 : 0700, err);
	return r < 0 ? r : check_folder(config->runtime, "runtime-dir", err);
}

/* A user who could write the folder of the system's agent could lock its devices. */
static int find_system_locks(struct clv_agent_config *config, struct clv_error *err)
{
	if (config->locks[0] == '\0')
		snprintf(config->locks, sizeof(config->locks), "%s",
			CLV_PATH_SYSTEM_LOCKS);
	/* A failure is reported when a device is locked. */
	if (clv_path_make(config->locks, 0755, NULL) < 0)
		return 0;
	return check_folder(config->locks, "lock-dir", err);
}

static int find_locks(struct clv_agent_config *config, struct clv_error *err)
{
	const char *locks = getenv("CLEAVE_LOCK_DIR");

	if (config->is_system)
		return find_system_locks(config, err);
	if (config->locks[0] == '\0')
		snprintf(config->locks, sizeof(config->locks), "%s",
			locks && locks[0] == '/' ? locks : CLV_PATH_LOCKS);
	return 0;
}

/* A user who can write there can replace the state, and with it the tokens.  The folder
 * may be reached by a link; a missing one is reported when the state is opened. */
static int check_state(const struct clv_agent_config *config, struct clv_error *err)
{
	mode_t others = config->is_system ? S_IWGRP | S_IWOTH : S_IWOTH;
	struct stat st;

	if (stat(config->state, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	if (st.st_uid != geteuid())
		return clv_error_set(err, -EPERM,
			"the state folder %.150s belongs to user %u and this agent is "
			"user "
			"%u: choose another with --state-dir",
			config->state, st.st_uid, geteuid());
	if (st.st_mode & others)
		return clv_error_set(err, -EPERM,
			"other users can write the state folder %.150s: chmod it to "
			"0700, "
			"or choose another with --state-dir",
			config->state);
	return 0;
}

int clv_daemon_find_folders(struct clv_agent_config *config, struct clv_error *err)
{
	static const size_t room = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
	struct clv_error problem = {0};
	int r = find_runtime(config, err);

	if (r < 0)
		return r;
	if (strlen(config->runtime) + strlen(LONGEST_SOCKET) > room)
		return clv_error_set(err, -ENAMETOOLONG,
			"%.200s is too long for the paths of sockets in it: at most %zu "
			"bytes",
			config->runtime, room - strlen(LONGEST_SOCKET));
	r = find_locks(config, err);
	if (r < 0)
		return r;
	if (config->state[0] == '\0' && config->is_system)
		snprintf(config->state, sizeof(config->state), "%s",
			CLV_PATH_SYSTEM_STATE);
	if (config->state[0] == '\0')
		r = clv_path_user_state(
			true, config->state, sizeof(config->state), &problem);
	else
		r = clv_path_make(config->state, 0700, &problem);
	/* No error here: requests for leases fail with the reason. */
	if (r < 0)
		clv_log_warning(0, "%s", problem.msg);
	return check_state(config, err);
}

int clv_daemon_lock(const struct clv_agent_config *config, struct clv_error *err)
{
	struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
	char path[CLV_FOLDER_MAX + 16];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/cleaved.lock", config->runtime);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return clv_error_errno(err, errno, "cannot lock %s", path);
	snprintf(path, sizeof(path), "%s/api.sock", config->runtime);
	/* The holder of the lock may be starting or ending. */
	for (int i = 0; i < LOCK_TRIES; i++) {
		int other;

		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return CLV_TAKE_FD(fd);
		if (errno != EWOULDBLOCK)
			return clv_error_errno(
				err, errno, "cannot lock %s", config->runtime);
		/* The service manager's socket accepts connections without an agent. */
		other = config->api_fd > 0
				? -1
				: clv_socket_connect(path, SOCK_STREAM, 1000, NULL);
		if (other >= 0) {
			close(other);
			return clv_error_set(err, -EALREADY,
				"another agent already serves %s: use it, or choose "
				"another --runtime-dir",
				path);
		}
		nanosleep(&pause, NULL);
	}
	return clv_error_set(err, -EBUSY,
		"another agent has locked %s and does not answer: end it first",
		config->runtime);
}

/* Leaves *ret as it is if there is no default path.  A simulated node has none: its agent
 * must not listen where the real node's agent is configured to. */
static void find_settings(const struct clv_agent_config *config, char *ret, size_t size)
{
	const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (config->settings[0] != '\0')
		snprintf(ret, size, "%s", config->settings);
	if (config->settings[0] != '\0' || config->sim[0] != '\0')
		return;
	if (config->is_system)
		snprintf(ret, size, "/etc/cleave/cleaved.yaml");
	else if (folder && folder[0] == '/')
		snprintf(ret, size, "%s/cleave/cleaved.yaml", folder);
	else if (home && home[0] == '/')
		snprintf(ret, size, "%s/.config/cleave/cleaved.yaml", home);
}

int clv_daemon_read_settings(const struct clv_agent_config *options,
	struct clv_yaml_mistakes *mistakes, struct clv_config **ret,
	struct clv_error *err)
{
	char path[CLV_FOLDER_MAX + 64] = "/nonexistent";
	unsigned flags = options->settings[0] != '\0' ? CLV_CONFIG_MUST_EXIST : 0;
	struct clv_config *config = NULL;
	int r, checked = 0;

	find_settings(options, path, sizeof(path));
	/* A working copy is another user's in many a build. */
	if (options->checks_users && !options->is_system && flags)
		flags |= CLV_CONFIG_NOT_USED;
	r = clv_config_read(path, flags, mistakes, &config, err);
	if (config && (r >= 0 || mistakes))
		checked = clv_config_check(config, options->checks_users, mistakes, err);
	if (r >= 0)
		r = checked;
	if (r < 0)
		clv_config_free(config);
	if (r < 0)
		return err->code = r == -ENOMEM ? r : -EBADMSG;
	*ret = config;
	return 0;
}
