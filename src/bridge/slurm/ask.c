/* SPDX-License-Identifier: Apache-2.0 */
/* Runs squeue and scontrol and parses their output. */
#include "bridge/slurm/ask.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

#define ANSWER_MAX 16384
#define NO_COMMENT "(null)"

/* Runs a program and stores the beginning of its output.  Returns its exit code, or -1 if
 * it could not be run. */
static int run(const char *const *words, char answer[ANSWER_MAX])
{
	posix_spawn_file_actions_t actions;
	int fds[2], r, status;
	FILE *in;
	size_t n;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO);
	r = posix_spawnp(
		&pid, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	in = fdopen(fds[0], "re");
	n = in && r == 0 ? fread(answer, 1, ANSWER_MAX - 1, in) : 0;
	answer[n] = '\0';
	if (in)
		fclose(in);
	if (r != 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int fail(const char *program, const char *answer, struct clv_error *err)
{
	return clv_error_set(err, -EIO, "%s: %.*s", program, (int)strcspn(answer, "\n"),
		answer[0] ? answer : "it cannot be run: is Slurm's client installed?");
}

enum clv_slurm_job clv_slurm_query_state(unsigned int job)
{
	static const char *const living[] = {"PENDING", "RUNNING", "SUSPENDED",
		"COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT",
		"RESIZING", "REQUEUED"};
	char answer[ANSWER_MAX], number[16];
	const char *words[] = {
		"squeue", "-h", "-t", "all", "-o", "%T", "-j", number, NULL};
	int code;

	snprintf(number, sizeof(number), "%u", job);
	code = run(words, answer);
	if (code != 0)
		return strstr(answer, "Invalid job id") ? CLV_SLURM_JOB_OVER
							: CLV_SLURM_JOB_UNKNOWN;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(living); i++) {
		if (strncmp(answer, living[i], strlen(living[i])) == 0)
			return CLV_SLURM_JOB_LIVES;
	}
	return CLV_SLURM_JOB_OVER;
}

int clv_slurm_query_comment(unsigned int job, char *ret, size_t ret_bytes,
	unsigned int *ret_nodes, struct clv_error *err)
{
	char answer[ANSWER_MAX], number[16], *text;
	const char *words[] = {
		"squeue", "-h", "-t", "all", "-o", "%D %k", "-j", number, NULL};

	snprintf(number, sizeof(number), "%u", job);
	if (run(words, answer) != 0)
		return fail(words[0], answer, err);
	answer[strcspn(answer, "\n")] = '\0';
	*ret_nodes = (unsigned int)strtoul(answer, &text, 10);
	text += *text == ' ';
	snprintf(ret, ret_bytes, "%s", strcmp(text, NO_COMMENT) == 0 ? "" : text);
	return 0;
}

int clv_slurm_set_comment(unsigned int job, const char *text, struct clv_error *err)
{
	char answer[ANSWER_MAX], which[32];
	_cleanup_free_ char *comment = NULL;
	const char *words[] = {"scontrol", "update", which, NULL, NULL};

	snprintf(which, sizeof(which), "JobId=%u", job);
	if (asprintf(&comment, "Comment=%s", text) < 0)
		return clv_error_errno(err, ENOMEM, "cannot comment on job %u", job);
	words[3] = comment;
	return run(words, answer) == 0 ? 0 : fail(words[0], answer, err);
}

int clv_slurm_requeue(unsigned int job, bool hold, struct clv_error *err)
{
	char answer[ANSWER_MAX], number[16];
	const char *words[] = {
		"scontrol", hold ? "requeuehold" : "requeue", number, NULL};

	snprintf(number, sizeof(number), "%u", job);
	return run(words, answer) == 0 ? 0 : fail(words[0], answer, err);
}

int clv_slurm_query_exclusive(unsigned int job, struct clv_error *err)
{
	char answer[ANSWER_MAX], number[16];
	const char *words[] = {
		"squeue", "-h", "-t", "all", "-o", "%h", "-j", number, NULL};

	snprintf(number, sizeof(number), "%u", job);
	if (run(words, answer) != 0)
		return fail(words[0], answer, err);
	return strncmp(answer, "NO", 2) == 0;
}

bool clv_slurm_has_gpus(const char *tres)
{
	for (const char *at = tres; (at = strstr(at, "gpu")); at += strlen("gpu")) {
		char before = at > tres ? at[-1] : ' ', after = at[strlen("gpu")];

		if (strchr(" :/,", before) && !isalnum((unsigned char)after) &&
			after != '_')
			return true;
	}
	return false;
}

/* Only fields that slurmctld has validated: a comment, a job's name or a command could
 * pretend to have GPUs. */
int clv_slurm_query_gpus(unsigned int job, struct clv_error *err)
{
	char answer[ANSWER_MAX], number[16];
	const char *words[] = {"squeue", "-h", "-t", "all", "-O",
		"tres-alloc:1024,tres-per-job:512,tres-per-node:512,tres-per-socket:512,"
		"tres-per-task:512",
		"-j", number, NULL};

	snprintf(number, sizeof(number), "%u", job);
	if (run(words, answer) != 0)
		return fail(words[0], answer, err);
	return clv_slurm_has_gpus(answer);
}

/* Finds the name's key in the comment; *ret_bytes is the length of the key. */
static char *find_seconds(const char *comment, const char *name, size_t *ret_bytes)
{
	char key[128];

	*ret_bytes = (size_t)snprintf(key, sizeof(key), "gpu_seconds[%s]=", name);
	return strstr(comment, key);
}

double clv_slurm_get_seconds(const char *comment, const char *name)
{
	size_t n_key;
	const char *at = find_seconds(comment, name, &n_key);

	return at ? strtod(at + n_key, NULL) : -1;
}

int clv_slurm_set_seconds(
	char *comment, size_t comment_bytes, const char *name, double seconds)
{
	_cleanup_free_ char *before = NULL, *text = NULL;
	const char *rest = "", *space = comment[0] ? " " : "";
	char *at, *end;
	size_t n_key;

	before = strdup(comment);
	if (!before)
		return -ENOMEM;
	at = find_seconds(before, name, &n_key);
	if (at) {
		strtod(at + n_key, &end);
		rest = end;
		*at = '\0';
		space = "";
	}
	if (asprintf(&text, "%s%sgpu_seconds[%s]=%.3f%s", before, space, name, seconds,
		    rest) < 0)
		return -ENOMEM;
	if (strlen(text) >= comment_bytes)
		return -ENOSPC;
	strcpy(comment, text);
	return 0;
}
