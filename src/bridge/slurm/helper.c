/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the program cleave with a clean environment, outside of the step's process tree.
 */
#include "bridge/slurm/helper.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_FAILED 125
#define PREFIX "cleave: "

#define PATH_SET "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define CONF_MAX 4200

/* A minimal environment, with SLURM_CONF so that Slurm's programs find this cluster. */
static void fill_environment(char conf[CONF_MAX], char *ret[4])
{
	const char *said = getenv("SLURM_CONF");

	ret[0] = (char *)(uintptr_t)PATH_SET;
	ret[1] = (char *)(uintptr_t) "LC_ALL=C.UTF-8";
	ret[2] = NULL;
	ret[3] = NULL;
	if (said && snprintf(conf, CONF_MAX, "SLURM_CONF=%s", said) < CONF_MAX)
		ret[2] = conf;
}

void clv_slurm_command_add(struct clv_slurm_command *command, const char *word)
{
	if (command->n + 1 < CLV_SLURM_ARGUMENTS_MAX)
		command->words[command->n++] = word;
}

/* Spawns the command with default signal handling and without Slurm's descriptors. */
static int start(
	const struct clv_slurm_command *command, int error_fd, pid_t *ret, short flags)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char conf[CONF_MAX], *environment[4];
	sigset_t none, all;
	int r;

	fill_environment(conf, environment);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes,
		(short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | flags));
	posix_spawn_file_actions_adddup2(&actions, error_fd, STDERR_FILENO);
	posix_spawn_file_actions_addopen(
		&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(
		&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	r = posix_spawn(ret, command->words[0], &actions, &attributes,
		(char *const *)(uintptr_t)command->words, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

/* Reads to the end and keeps the last line that is not empty. */
static void read_last_line(int fd, char *ret, size_t ret_bytes)
{
	char line[1024];
	FILE *in = fdopen(fd, "re");

	ret[0] = '\0';
	if (!in) {
		close(fd);
		return;
	}
	while (fgets(line, sizeof(line), in)) {
		const char *text = line;

		line[strcspn(line, "\n")] = '\0';
		if (strncmp(text, PREFIX, strlen(PREFIX)) == 0)
			text += strlen(PREFIX);
		if (text[0])
			snprintf(ret, ret_bytes, "%s", text);
	}
	fclose(in);
}

static int fail(
	const struct clv_slurm_command *command, int errnum, char *ret, size_t ret_bytes)
{
	snprintf(ret, ret_bytes,
		"cannot run %s (%s): install cleave there, or set cleave=PATH in "
		"plugstack.conf",
		command->words[0], strerror(errnum));
	return EXIT_FAILED;
}

/* The result of a command, sent through a pipe by the process that waits for it. */
struct end {
	int error;  /* errno if it could not be started, else 0 */
	int status; /* of waitpid() */
};

/* Slurm ends a step with signals to all descendants of its slurmstepd, which must not hit
 * the command: so the process that waits for it is a daemon, reparented to init. */
static void __attribute__((noreturn))
stay_outside(const struct clv_slurm_command *command, int line_fd, int end_fd)
{
	struct end end = {};
	pid_t pid;

	setsid();
	end.error = -start(command, line_fd, &pid, 0);
	close(line_fd);
	if (!end.error && waitpid(pid, &end.status, 0) < 0)
		end.error = errno;
	_exit(write(end_fd, &end, sizeof(end)) != sizeof(end));
}

static int start_outside(const struct clv_slurm_command *command, int line_fd, int end_fd)
{
	pid_t between = fork();

	if (between < 0)
		return -errno;
	if (between == 0) {
		if (fork() == 0)
			stay_outside(command, line_fd, end_fd);
		_exit(0);
	}
	while (waitpid(between, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

static int exit_code_of(const struct clv_slurm_command *command, const struct end *end,
	char *ret_line, size_t ret_bytes)
{
	if (end->error)
		return fail(command, end->error, ret_line, ret_bytes);
	if (WIFEXITED(end->status))
		return WEXITSTATUS(end->status);
	snprintf(ret_line, ret_bytes, "%s was ended by signal %d", command->words[0],
		WTERMSIG(end->status));
	return EXIT_FAILED;
}

int clv_slurm_command_run(
	const struct clv_slurm_command *command, char *ret_line, size_t ret_bytes)
{
	_cleanup_close_ int end_fd = -1;
	int line_fds[2], end_fds[2], r;
	struct end end;

	if (pipe2(line_fds, O_CLOEXEC) < 0)
		return fail(command, errno, ret_line, ret_bytes);
	if (pipe2(end_fds, O_CLOEXEC) < 0) {
		r = errno;
		close(line_fds[0]);
		close(line_fds[1]);
		return fail(command, r, ret_line, ret_bytes);
	}
	end_fd = end_fds[0];
	r = start_outside(command, line_fds[1], end_fds[1]);
	close(line_fds[1]);
	close(end_fds[1]);
	read_last_line(line_fds[0], ret_line, ret_bytes);
	if (r < 0 || read(end_fd, &end, sizeof(end)) != sizeof(end))
		return fail(command, r < 0 ? -r : ECHILD, ret_line, ret_bytes);
	return exit_code_of(command, &end, ret_line, ret_bytes);
}

/* The intermediate process is reaped here, and the command is reparented. */
void clv_slurm_command_start(const struct clv_slurm_command *command)
{
	pid_t between = fork(), pid;

	if (between == 0) {
		_cleanup_close_ int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

		start(command, fd, &pid, POSIX_SPAWN_SETSID);
		_exit(0);
	}
	if (between > 0)
		waitpid(between, NULL, 0);
}
