/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/exported.h"

#include "agent/os/helper.h"
#include "agent/os/poll.h"
#include "arbiter/attach.h"
#include "base/array.h"
#include "base/watched.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long the agent waits for its child. */
#define ANSWER_MS 100

static bool is_same_file(int a, int b)
{
	pid_t self = getpid();

	return syscall(SYS_kcmp, self, self, KCMP_FILE, a, b) == 0;
}

void clv_exported_add(struct clv_exported *exported, int fd)
{
	bool is_known = false;

	for (uint32_t i = 0; i < exported->n_fds; i++)
		is_known |= is_same_file(exported->fds[i], fd);
	if (!is_known && exported->n_fds < CLV_EXPORTED_LISTS) {
		exported->fds[exported->n_fds++] = fd;
		return;
	}
	exported->is_partial |= !is_known;
	close(fd);
}

void clv_exported_close(struct clv_exported *exported)
{
	while (exported->n_fds > 0)
		close(exported->fds[--exported->n_fds]);
}

/* The data of the watched files. */
struct files {
	uint64_t *items;
	size_t n;
	uint64_t uncounted_bytes; /* files for which there was no memory */
};

static void add_file(uint64_t data, void *userdata)
{
	struct files *files = userdata;
	uint64_t *item = CLV_APPEND(files->items, files->n);

	if (item)
		*item = data;
	else
		files->uncounted_bytes += CLV_ATTACH_EXPORT_BYTES(data);
}

static int compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* Several files may be of the same memory, and several epoll instances may watch one
 * file. */
static uint64_t sum(struct files *files)
{
	uint64_t n_bytes = files->uncounted_bytes;

	if (files->n > 0)
		qsort(files->items, files->n, sizeof(*files->items), compare);
	for (size_t i = 0; i < files->n; i++) {
		if (i == 0 || files->items[i] != files->items[i - 1])
			n_bytes += CLV_ATTACH_EXPORT_BYTES(files->items[i]);
	}
	return n_bytes;
}

static bool sum_all(const struct clv_exported *exported, uint64_t *ret_bytes)
{
	struct files files = {0};
	bool is_complete = true;

	for (uint32_t i = 0; i < exported->n_fds; i++)
		is_complete &= clv_watched_visit(exported->fds[i], add_file, &files);
	if (is_complete)
		*ret_bytes = sum(&files);
	free(files.items);
	return is_complete;
}

_Noreturn static void answer(const struct clv_exported *exported, int to_fd)
{
	int kept[CLV_EXPORTED_LISTS + 1] = {to_fd};
	uint64_t n_bytes;

	memcpy(kept + 1, exported->fds, exported->n_fds * sizeof(kept[0]));
	clv_helper_close_all_but(kept, 1 + exported->n_fds);
	if (sum_all(exported, &n_bytes))
		(void)!write(to_fd, &n_bytes, sizeof(n_bytes));
	_exit(0);
}

static bool has_ended(pid_t child, int how)
{
	return child == 0 || waitpid(child, NULL, how) != 0;
}

/* Reads the answer of the child and closes the descriptor. */
static bool receive(int from_fd, uint64_t *ret_bytes)
{
	uint64_t n_bytes;
	bool is_whole = read(from_fd, &n_bytes, sizeof(n_bytes)) == sizeof(n_bytes);

	if (is_whole)
		*ret_bytes = n_bytes;
	close(from_fd);
	return is_whole;
}

bool clv_exported_sum(
	const struct clv_exported *exported, pid_t *reader, uint64_t *ret_bytes)
{
	struct pollfd end = {.events = POLLIN};
	bool has_answered;
	int ends[2];

	if (exported->is_partial || !has_ended(*reader, WNOHANG) ||
		pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	*reader = fork();
	if (*reader == 0)
		answer(exported, ends[1]);
	close(ends[1]);
	end.fd = ends[0];
	/* If fork() has failed, this is the end of the pipe. */
	has_answered = clv_poll(&end, ANSWER_MS) > 0;
	if (*reader > 0)
		kill(*reader, SIGKILL);
	if (*reader < 0 || has_ended(*reader, has_answered ? 0 : WNOHANG))
		*reader = 0;
	return receive(ends[0], ret_bytes);
}
