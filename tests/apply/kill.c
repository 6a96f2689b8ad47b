/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the agent: kills it at the N-th call with a lasting effect, which is a
 * write or flush of the state file or a request to the worker. CLEAVE_KILL_AT names a
 * file with "N before" or "N after". Calls count from the time that the file exists, one
 * byte each in FILE.count; with N = 0 they are only counted. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *order; /* NULL: not the agent */
static long n_calls;

/* The worker and the probe are the same program with another option. */
__attribute__((constructor)) static void look_who_it_is(void)
{
	char line[4096] = "";
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);

	if (fd >= 0)
		close(fd);
	if (n > 0 && memmem(line, (size_t)n, "--foreground", strlen("--foreground")))
		order = getenv("CLEAVE_KILL_AT");
}

static bool is_ordered(const char *when)
{
	char wanted[16] = "";
	FILE *file = order ? fopen(order, "re") : NULL;
	long at = 0;
	int n = file ? fscanf(file, "%ld %15s", &at, wanted) : 0;

	if (file)
		fclose(file);
	return n == 2 && at == n_calls && strcmp(when, wanted) == 0;
}

static void count(void)
{
	char name[4096];
	int fd;

	if (!order || access(order, F_OK) < 0)
		return;
	n_calls++;
	snprintf(name, sizeof(name), "%s.count", order);
	fd = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, ".", 1) != 1)
		abort();
	close(fd);
}

static void strike(const char *when)
{
	if (is_ordered(when))
		raise(SIGKILL);
}

static void *next(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

#define STRUCK(name, symbol, ...)                                         \
	({                                                                \
		__typeof__(&(name)) real = next(symbol);                  \
                                                                          \
		count();                                                  \
		strike("before");                                         \
		__typeof__((name)(__VA_ARGS__)) done = real(__VA_ARGS__); \
		strike("after");                                          \
		done;                                                     \
	})

#pragma GCC visibility push(default)

/* With 64-bit offsets its symbol is pwrite64, as in SQLite. */
ssize_t pwrite(int fd, const void *data, size_t n_bytes, off_t at)
{
	return STRUCK(pwrite, "pwrite64", fd, data, n_bytes, at);
}

int fdatasync(int fd)
{
	return STRUCK(fdatasync, "fdatasync", fd);
}

int fsync(int fd)
{
	return STRUCK(fsync, "fsync", fd);
}

ssize_t send(int fd, const void *data, size_t n_bytes, int flags)
{
	return STRUCK(send, "send", fd, data, n_bytes, flags);
}
