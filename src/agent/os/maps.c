/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/maps.h"

#include "agent/os/helper.h"
#include "agent/os/poll.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SLOW_NS (10 * CLV_NS_PER_MS)

struct reply {
	uint32_t number; /* that of the request */
	int r;
	uint64_t texts;
};

struct request {
	uint32_t number;
	struct clv_maps_search search;
};

/* The child. */

/* name: of the mapped file; NULL: the line has none. */
static bool has_text(const struct clv_maps_search *search, const char *line,
	const char *name, uint32_t i)
{
	const char *text = search->texts[i];

	if (text[0] == '\0')
		return false;
	if (!search->are_names)
		return strstr(line, text) != NULL;
	return name && strncmp(name, text, strlen(text)) == 0;
}

/* Opening a link of /proc/PID/map_files takes the mmap lock, too. */
static int open_mapped(pid_t pid, char *line)
{
	char path[32 + CLV_MAPS_RANGE_BYTES];

	line[strcspn(line, " ")] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/map_files/%.39s", (int)pid, line);
	return open(path, O_PATH | O_CLOEXEC);
}

/* False: the search is over. */
static bool take_line(const struct clv_maps_search *search, char *line,
	struct reply *reply, int *ret_fd)
{
	const char *slash = strrchr(line, '/'), *name = slash ? slash + 1 : NULL;

	for (uint32_t i = 0; i < search->n; i++) {
		if (has_text(search, line, name, i))
			reply->texts |= UINT64_C(1) << i;
	}
	if (!search->wants_file || reply->texts == 0)
		return true;
	*ret_fd = open_mapped(search->pid, line);
	return false;
}

/* The kernel returns whole lines.  The rest of a line that is longer than the buffer is
 * parsed as a line of its own, which does no harm: it is the end of a file name. */
static int read_lines(
	int fd, const struct clv_maps_search *search, struct reply *reply, int *ret_fd)
{
	static char buffer[65536];
	size_t kept = 0;
	ssize_t n;

	while ((n = read(fd, buffer + kept, sizeof(buffer) - 1 - kept)) > 0) {
		char *line = buffer, *end;

		buffer[kept + (size_t)n] = '\0';
		while ((end = strchr(line, '\n'))) {
			*end = '\0';
			if (!take_line(search, line, reply, ret_fd))
				return 0;
			line = end + 1;
		}
		kept = strlen(line);
		memmove(buffer, line, kept);
		if (kept == sizeof(buffer) - 1)
			kept = 0;
	}
	return n < 0 ? -errno : 0;
}

static int search_here(
	const struct clv_maps_search *search, struct reply *reply, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	char path[32];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)search->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? -errno : read_lines(fd, search, reply, ret_fd);
	return r == -ENOENT || r == -ESRCH ? 0 : r;
}

static bool receive(int fd, struct request *ret)
{
	size_t n_files = 0;

	return clv_socket_receive(fd, ret, sizeof(*ret), NULL, &n_files) ==
	       (ssize_t)sizeof(*ret);
}

static void serve(int fd)
{
	static struct request request;

	while (receive(fd, &request)) {
		struct reply reply = {.number = request.number};
		int file_fd = -1;

		reply.r = search_here(&request.search, &reply, &file_fd);
		if (clv_socket_send(fd, &reply, sizeof(reply), &file_fd, file_fd >= 0) <
			0)
			break;
		clv_close_fd(&file_fd);
	}
}

/* The agent. */

static struct {
	struct clv_helper helper;
	uint32_t number;
	/* Killed children.  One that has not ended yet keeps its entry. */
	pid_t killed[4];
	bool was_slow; /* of the last search */
} child;

static pid_t *find_place(void)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(child.killed); i++) {
		pid_t *place = &child.killed[i];

		if (*place == 0 || clv_helper_has_ended(*place)) {
			*place = 0;
			return place;
		}
	}
	return NULL;
}

static int start(void)
{
	if (!find_place())
		return -EBUSY;
	return child.helper.pid != 0 ? 0 : clv_helper_start(&child.helper, "maps", serve);
}

void clv_maps_start(void)
{
	start();
}

static void stop(void)
{
	pid_t *place = find_place(), killed = clv_helper_stop(&child.helper);

	if (place)
		*place = killed;
}

/* The processor time that the child has used, which stays small while the processors are
 * busy with other work.  UINT64_MAX: unknown. */
static uint64_t used_ns(void)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(child.helper.pid, &clock) != 0 ||
		clock_gettime(clock, &used) < 0)
		return UINT64_MAX;
	return (uint64_t)used.tv_sec * CLV_NS_PER_S + (uint64_t)used.tv_nsec;
}

/* A child that runs, or waits for a processor, does not hang.  But the mappings of a
 * process may take long to read. */
static bool may_go_on(uint64_t began_ns, uint64_t began_used_ns)
{
	char buffer[256];
	const char *state =
		clv_helper_read_stat(child.helper.pid, buffer, sizeof(buffer));

	return state && *state == 'R' &&
	       clv_clock_ns() - began_ns < CLV_MAPS_MOST_MS * CLV_NS_PER_MS &&
	       used_ns() - began_used_ns < CLV_MAPS_USED_MS * CLV_NS_PER_MS;
}

static int await_reply(uint64_t began_used_ns, struct reply *ret, int *ret_fd)
{
	struct pollfd readable = {.fd = child.helper.fd, .events = POLLIN};
	uint64_t began_ns = clv_clock_ns();

	for (;;) {
		size_t n_files = 1;

		readable.revents = 0;
		/* The child may have answered since, and wait for the next request. */
		if (clv_poll(&readable, CLV_MAPS_MS) == 0 &&
			!may_go_on(began_ns, began_used_ns) &&
			clv_poll(&readable, 0) == 0)
			return -ETIMEDOUT;
		if (!(readable.revents & (POLLIN | POLLHUP)))
			continue; /* a signal arrived, or the child may continue */
		if (clv_socket_receive(child.helper.fd, ret, sizeof(*ret), ret_fd,
			    &n_files) != (ssize_t)sizeof(*ret))
			return -EIO;
		if (n_files == 0)
			*ret_fd = -1;
		if (ret->number == child.number)
			return 0;
		clv_close_fd(ret_fd);
	}
}

static int search_once(const struct clv_maps_search *search, struct clv_maps_found *ret)
{
	struct request request = {.search = *search};
	uint64_t began_used_ns;
	struct reply reply;
	int r = start();

	*ret = (struct clv_maps_found){.file_fd = -1};
	child.was_slow = true;
	if (r < 0)
		return -EAGAIN;
	began_used_ns = used_ns();
	request.number = ++child.number;
	r = clv_socket_send(child.helper.fd, &request, sizeof(request), NULL, 0);
	if (r >= 0)
		r = await_reply(began_used_ns, &reply, &ret->file_fd);
	if (r < 0) {
		stop();
		return -EAGAIN;
	}
	ret->texts = reply.texts;
	child.was_slow = used_ns() - began_used_ns >= SLOW_NS;
	return reply.r == 0 || reply.r == -EACCES ? reply.r : -EAGAIN;
}

/* The time for which a hypervisor takes the processor away counts as used by the child.
 * That happens to one search, and a process that has many mappings is slow at the next
 * one, too. */
int clv_maps_search(const struct clv_maps_search *search, struct clv_maps_found *ret)
{
	int r = search_once(search, ret);

	if (r < 0 || !child.was_slow)
		return r;
	clv_close_fd(&ret->file_fd);
	return search_once(search, ret);
}

bool clv_maps_was_slow(void)
{
	return child.was_slow;
}

static int has_line_with(const struct clv_maps_search *search)
{
	struct clv_maps_found found;
	int r = clv_maps_search(search, &found);

	return r < 0 ? r : found.texts != 0;
}

void clv_maps_text(struct clv_maps_search *search, dev_t device, ino_t inode)
{
	search->n = 1;
	snprintf(search->texts[0], sizeof(search->texts[0]), " %02x:%02x %ju ",
		major(device), minor(device), (uintmax_t)inode);
}

int clv_maps_file(pid_t pid, dev_t device, ino_t inode)
{
	struct clv_maps_search search = {.pid = pid};

	clv_maps_text(&search, device, inode);
	return has_line_with(&search);
}

int clv_maps_report(pid_t pid)
{
	struct clv_maps_search search = {.pid = pid, .n = 1};

	snprintf(search.texts[0], sizeof(search.texts[0]), " /memfd:cleave-report ");
	return has_line_with(&search);
}
