/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on what a tenant shares with the agent, for each API: the control page, the
 * report page, the lease's socket, and the agent's process itself. */
#include "mapped.h"
#include "ways.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct mapping find_page(const char *name)
{
	struct mapping found = look_for_page(name);

	if (!found.at)
		way_die("no such page", 0);
	return found;
}

/* Opens the page's file again by its mapping. */
static bool map_anew(const struct mapping *page)
{
	char path[128];
	void *map = MAP_FAILED;
	bool changed;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx",
		(unsigned long)page->at, (unsigned long)page->at + page->n_bytes);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	map = mmap(NULL, page->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	changed = ftruncate(fd, 0) == 0 || pwrite(fd, "", 1, 32) == 1;
	close(fd);
	return map != MAP_FAILED || changed;
}

static int way_control_page(char **arguments)
{
	struct mapping page;

	gpu_open();
	page = find_page("cleave-control");
	if (mprotect(page.at, page.n_bytes, PROT_READ | PROT_WRITE) == 0)
		way_say("yes mprotect\n");
	else if (write_through_memory_file(&page))
		way_say("yes /proc/self/mem\n");
	else if (map_anew(&page))
		way_say("yes a new mapping\n");
	else
		way_say("no way to write\n");
	return 0;
}

/* Writes random bytes at random places of the page. */
static int way_report_noise(char **arguments)
{
	struct mapping page;
	uint64_t state = 88172645463325252u;

	gpu_open();
	page = find_page("cleave-report");
	way_begin();
	while (way_goes_on()) {
		for (size_t i = 0; i + 8 <= page.n_bytes; i += 8) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			memcpy(page.at + i, &state, 8);
		}
		usleep(100);
	}
	way_end();
	return 0;
}

/* Sets the memory in use, the third word of each slot, to 0. */
static int way_report_memory(char **arguments)
{
	struct mapping page;
	size_t n = 0;
	int r = 0;

	gpu_open();
	page = find_page("cleave-report");
	while (n < gpu_pieces_max) {
		for (size_t i = 16; i + 8 <= page.n_bytes; i += 64)
			memset(page.at + i, 0, 8);
		r = gpu_take_piece();
		if (r)
			break;
		n++;
	}
	way_say("got %zu code %d\n", n * gpu_piece_bytes, r);
	gpu_keep();
	return 0;
}

/* Messages of random bytes and lengths, and connections that send nothing. */
static int way_socket_noise(char **arguments)
{
	unsigned char noise[600];
	unsigned int n = 1, sent = 0;
	int fd;

	way_begin();
	while (way_goes_on()) {
		fd = way_connect(SOCK_NONBLOCK);
		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] =
				(unsigned char)(n = n * 1103515245 + 12345 + (n >> 16));
		if (fd >= 0 && send(fd, noise, n % sizeof(noise), MSG_NOSIGNAL) >= 0)
			sent++;
		if (fd >= 0 && n % 16)
			close(fd);
		usleep(500);
	}
	if (sent == 0)
		way_die("nothing could be sent", errno);
	way_end();
	return 0;
}

/* A user's own agent is that user's process. */
static int way_trace_agent(char **arguments)
{
	pid_t pid = arguments[0] ? (pid_t)strtol(arguments[0], NULL, 10) : 0;

	if (pid > 0 && ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0) {
		ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
		waitpid(pid, NULL, __WALL);
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
		way_say("yes traced\n");
	} else if (pid > 0 && kill(pid, 0) == 0) {
		way_say("yes signalled, not traced: %s\n", strerror(errno));
	} else {
		way_say("no: %s\n", strerror(errno));
	}
	return 0;
}

const struct way way_pages[] = {
	{"control-page", way_control_page},
	{"report-noise", way_report_noise},
	{"report-memory", way_report_memory},
	{"socket-noise", way_socket_noise},
	{"trace-agent", way_trace_agent},
	{NULL, NULL},
};
