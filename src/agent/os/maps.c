/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/maps.h"

#include "agent/os/aside.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 5
#define SLOW_NS (10 * CLV_NS_PER_MS)

struct reply {
	uint32_t number; /* of the request */
	int r;
	uint64_t texts;
};

struct request {
	uint32_t number;
	struct clv_maps_search search;
};

/* The child.  Other threads of the agent may have held any lock when it was made: it
 * calls async-signal-safe functions only, and does not allocate. */

/* name: the mapped file's; NULL: none. */
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
 * taken for a line: nothing but a file's name is so long. */
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

/* The process's stat file behind the name, which may have any characters: its state is
 * the first.  NULL: it is gone. */
static const char *read_stat(pid_t pid, char *buffer, size_t room_bytes)
{
	_cleanup_close_ int fd = -1;
	const char *end;
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buffer, room_bytes - 1);
	if (n < 0)
		return NULL;
	buffer[n] = '\0';
	end = strrchr(buffer, ')');
	return end ? end + 2 : NULL;
}

/* ps shows what the child is, and not a second agent: writes over the arguments, whose
 * addresses are the fields 48 and 49 of the stat file. */
static void take_name(void)
{
	static const char name[] = "cleaved --maps";
	char buffer[1024];
	const char *at = read_stat(getpid(), buffer, sizeof(buffer));
	char *begin, *end;

	prctl(PR_SET_NAME, "cleaved-maps");
	for (int field = 3; at && field < 48; field++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	if (!at)
		return;
	begin = (char *)(uintptr_t)strtoull(at, (char **)&at, 10);
	end = (char *)(uintptr_t)strtoull(at, NULL, 10);
	if (!begin || end < begin + sizeof(name))
		return;
	memset(begin, 0, (size_t)(end - begin));
	memcpy(begin, name, sizeof(name));
}

static bool receive(int fd, struct request *ret)
{
	size_t n_files = 0;

	return clv_socket_receive(fd, ret, sizeof(*ret), NULL, &n_files) ==
	       (ssize_t)sizeof(*ret);
}

_Noreturn static void serve(int fd, pid_t agent)
{
	static struct request request;
	int kept[] = {fd};

	clv_aside_close_all_but(kept, CLV_ARRAY_SIZE(kept));
	take_name();
	/* A child that hangs does not notice the end of its agent by the socket. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == agent && receive(fd, &request)) {
		struct reply reply = {.number = request.number};
		int file_fd = -1;

		reply.r = search_here(&request.search, &reply, &file_fd);
		if (clv_socket_send(fd, &reply, sizeof(reply), &file_fd, file_fd >= 0) <
			0)
			break;
		clv_close_fd(&file_fd);
	}
	_exit(0);
}

/* The agent. */

static struct {
	int fd; /* of the child's socket; valid while pid is not 0 */
	pid_t pid;
	uint32_t number;
	/* Killed children.  One that the kernel does not let end keeps its place. */
	pid_t killed[4];
	bool was_slow; /* the last search */
} child;

static pid_t *find_place(void)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(child.killed); i++) {
		pid_t *place = &child.killed[i];

		if (*place == 0 || waitpid(*place, NULL, WNOHANG) != 0) {
			*place = 0;
			return place;
		}
	}
	return NULL;
}

static int start(void)
{
	pid_t agent = getpid();
	int ends[2];

	if (!find_place())
		return -EBUSY;
	if (child.pid != 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	child.pid = fork();
	if (child.pid == 0)
		serve(ends[1], agent);
	close(ends[1]);
	if (child.pid < 0) {
		close(ends[0]);
		child.pid = 0;
		return -EAGAIN;
	}
	child.fd = ends[0];
	return 0;
}

void clv_maps_start(void)
{
	start();
}

static void stop(void)
{
	const struct timespec pause = {.tv_nsec = CLV_NS_PER_MS};
	pid_t *place = find_place();

	close(child.fd);
	kill(child.pid, SIGKILL);
	for (int i = 0; i < END_MS && waitpid(child.pid, NULL, WNOHANG) == 0; i++) {
		if (i == END_MS - 1 && place)
			*place = child.pid;
		nanosleep(&pause, NULL);
	}
	child.pid = 0;
}

/* The processor time that the child has used, which is little while others use the
 * processors.  UINT64_MAX: unknown. */
static uint64_t used_ns(void)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(child.pid, &clock) != 0 ||
		clock_gettime(clock, &used) < 0)
		return UINT64_MAX;
	return (uint64_t)used.tv_sec * CLV_NS_PER_S + (uint64_t)used.tv_nsec;
}

/* A child that runs, or waits for a processor, is not one that hangs.  But a process may
 * have mappings that take long to read. */
static bool may_go_on(uint64_t began_ns, uint64_t began_used_ns)
{
	char buffer[256];
	const char *state = read_stat(child.pid, buffer, sizeof(buffer));

	return state && *state == 'R' &&
	       clv_clock_ns() - began_ns < CLV_MAPS_MOST_MS * CLV_NS_PER_MS &&
	       used_ns() - began_used_ns < CLV_MAPS_USED_MS * CLV_NS_PER_MS;
}

static int await_reply(uint64_t began_used_ns, struct reply *ret, int *ret_fd)
{
	struct pollfd readable = {.fd = child.fd, .events = POLLIN};
	uint64_t began_ns = clv_clock_ns();

	for (;;) {
		size_t n_files = 1;

		readable.revents = 0;
		if (poll(&readable, 1, CLV_MAPS_MS) == 0 &&
			!may_go_on(began_ns, began_used_ns))
			return -ETIMEDOUT;
		if (!(readable.revents & (POLLIN | POLLHUP)))
			continue; /* a signal, or it may go on */
		if (clv_socket_receive(child.fd, ret, sizeof(*ret), ret_fd, &n_files) !=
			(ssize_t)sizeof(*ret))
			return -EIO;
		if (n_files == 0)
			*ret_fd = -1;
		if (ret->number == child.number)
			return 0;
		clv_close_fd(ret_fd);
	}
}

int clv_maps_search(const struct clv_maps_search *search, struct clv_maps_found *ret)
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
	r = clv_socket_send(child.fd, &request, sizeof(request), NULL, 0);
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
