/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on what a tenant shares with the agent and the kernel: the lease's pages and
 * its socket. */
#include "cuda.h"
#include "mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct mapping find_page(const char *name)
{
	struct mapping found = look_for_page(name);

	if (!found.at)
		die("no such page", 0);
	return found;
}

static int control_page(char **arguments)
{
	struct mapping page;

	(void)arguments;
	open_device();
	page = find_page("cleave-control");
	if (mprotect(page.at, page.n_bytes, PROT_READ | PROT_WRITE) == 0)
		say("yes mprotect\n");
	else if (write_through_memory_file(&page))
		say("yes /proc/self/mem\n");
	else
		say("no way to write\n");
	return 0;
}

/* Sets the memory in use, the third word of each slot, to 0. */
static int report_memory(char **arguments)
{
	struct mapping page;
	size_t n = 0;
	int r = 0;

	(void)arguments;
	open_device();
	page = find_page("cleave-report");
	while (n < PIECES_MAX) {
		for (size_t i = 16; i + 8 <= page.n_bytes; i += 64)
			memset(page.at + i, 0, 8);
		r = take_plain();
		if (r)
			break;
		n++;
	}
	say("got %zu code %d\n", n * PIECE_BYTES, r);
	stay();
	return 0;
}

static struct mapping report;

/* Reports all work as complete at any time. */
static void *nothing_is_out(void *userdata)
{
	(void)userdata;
	for (;;) {
		for (size_t i = 0; i + 64 <= 16 * 64; i += 64)
			memcpy(report.at + i + 8, report.at + i, 8);
	}
	return NULL;
}

static int report_done(char **arguments)
{
	pthread_t thread;
	handle stream;

	(void)arguments;
	open_device();
	stream = new_stream();
	train(spin, 1000);
	report = find_page("cleave-report");
	pthread_create(&thread, NULL, nothing_is_out, NULL);
	say("go\n");
	flood_with_kernels(stream, 5000000, 400);
	return 0;
}

/* Writes random bytes at random places of the page. */
static int report_noise(char **arguments)
{
	uint64_t state = 88172645463325252u;

	(void)arguments;
	open_device();
	report = find_page("cleave-report");
	say("go\n");
	while (report.at) {
		for (size_t i = 0; i + 8 <= report.n_bytes; i += 8) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			memcpy(report.at + i, &state, 8);
		}
		usleep(1000);
	}
	return 0;
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Messages of random bytes and lengths, and connections that send nothing. */
static int socket_noise(char **arguments)
{
	const char *path = getenv("CLEAVE_LEASE");
	unsigned char noise[600];
	unsigned n = 1;

	(void)arguments;
	if (!path || connect_to(path) < 0)
		die("no socket", errno);
	say("go\n");
	for (;;) {
		int fd = connect_to(path);

		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] =
				(unsigned char)(n = n * 1103515245 + 12345 + (n >> 16));
		if (fd >= 0 && send(fd, noise, n % sizeof(noise), MSG_NOSIGNAL) >= 0 &&
			n % 16)
			close(fd);
		usleep(1000);
	}
}

const struct way way_pages[] = {
	{"control-page", control_page},
	{"report-memory", report_memory},
	{"report-done", report_done},
	{"report-noise", report_noise},
	{"socket-noise", socket_noise},
	{NULL, NULL},
};
