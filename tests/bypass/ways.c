/* SPDX-License-Identifier: Apache-2.0 */
/* A way judges nothing: it prints what it got, and the referee knows what it should have
 * got. */
#include "ways.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t end_ns;

void way_say(const char *format, ...)
{
	char line[256];
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	/* Written in one call, because several processes write at once. */
	if (n <= 0 || write(STDOUT_FILENO, line, (size_t)n) != n)
		_exit(1);
}

void way_die(const char *what, int code)
{
	way_say("failed %s: %d\n", what, code);
	_exit(1);
}

uint64_t way_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t way_number(const char *name, uint64_t otherwise)
{
	const char *said = getenv(name);

	return said ? strtoull(said, NULL, 10) : otherwise;
}

void way_stay(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

int way_wait_for(pid_t pid)
{
	int status = 0;

	if (pid < 0)
		way_die("no child", errno);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			way_die("waitpid", errno);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int way_connect(int flags)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("CLEAVE_LEASE");
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);

	if (!path)
		way_die("no lease", 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void way_begin(void)
{
	way_say("go\n");
	end_ns = way_now_ns() + way_number("BYPASS_MS", gpu_ms) * 1000000;
}

bool way_goes_on(void)
{
	return way_now_ns() < end_ns;
}

void way_end(void)
{
	way_say("done\n");
	way_stay();
	/* Does not wait for work that a way has left. */
	_exit(0);
}

void way_never_end(void)
{
	end_ns = UINT64_MAX;
}

int way_run(const struct way *const *families, size_t n, char **arguments)
{
	for (size_t i = 0; arguments[0] && i < n; i++) {
		for (const struct way *way = families[i]; way->name; way++) {
			if (strcmp(way->name, arguments[0]) == 0)
				return way->run(arguments + 1);
		}
	}
	return -1;
}
