/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a process hang without stopping it: its main thread, or all its threads, continue
 * in a loop that computes, or that sleeps.  Nothing in the process itself helps: the
 * loop is written over its entry point, which no thread executes again.
 *
 * usage: hang PID main|all compute|sleep
 *
 * Exit code 77: not possible here. */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77

#ifdef __x86_64__

/* jmp to itself; pause() in a loop. */
static const uint8_t compute_loop[8] = {0xeb, 0xfe};
static const uint8_t sleep_loop[16] = {0xb8, SYS_pause, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7};

static void fail(const char *what)
{
	int code = errno;

	fprintf(stderr, "hang: %s: %s\n", what, strerror(code));
	exit(code == EPERM || code == EACCES ? SKIPPED : 1);
}

static uintptr_t find_entry(pid_t pid)
{
	Elf64_auxv_t entry;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	file = fopen(path, "re");
	while (file && fread(&entry, sizeof(entry), 1, file) == 1) {
		if (entry.a_type != AT_ENTRY)
			continue;
		fclose(file);
		return entry.a_un.a_val;
	}
	fail(path);
	return 0;
}

static void halt(pid_t thread)
{
	int status;

	if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) < 0 ||
		ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) < 0 ||
		waitpid(thread, &status, __WALL) != thread)
		fail("attach");
}

static void write_loop(pid_t thread, uintptr_t at, const uint8_t *loop, size_t n)
{
	for (size_t i = 0; i < n; i += sizeof(long)) {
		long word;

		memcpy(&word, loop + i, sizeof(word));
		if (ptrace(PTRACE_POKETEXT, thread, (void *)(at + i), (void *)word) < 0)
			fail("write");
	}
}

/* A system call that was interrupted is not begun again. */
static void send_to(pid_t thread, uintptr_t at)
{
	struct user_regs_struct registers;
	struct iovec all = {&registers, sizeof(registers)};

	if (ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &all) < 0)
		fail("read the registers");
	registers.rip = at;
	registers.orig_rax = (unsigned long long)-1;
	if (ptrace(PTRACE_SETREGSET, thread, (void *)NT_PRSTATUS, &all) < 0)
		fail("write the registers");
}

static size_t list_threads(pid_t pid, bool is_all, pid_t *ret, size_t room)
{
	const struct dirent *entry;
	char path[64];
	size_t n = 0;
	DIR *threads;

	ret[n++] = pid;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = is_all ? opendir(path) : NULL;
	while (threads && n < room && (entry = readdir(threads))) {
		pid_t thread = atoi(entry->d_name);

		if (thread > 0 && thread != pid)
			ret[n++] = thread;
	}
	if (threads)
		closedir(threads);
	return n;
}

static void hang(pid_t pid, bool is_all, bool computes)
{
	uintptr_t at = find_entry(pid);
	pid_t threads[256];
	size_t n = list_threads(pid, is_all, threads, 256);

	for (size_t i = 0; i < n; i++)
		halt(threads[i]);
	if (computes)
		write_loop(pid, at, compute_loop, sizeof(compute_loop));
	else
		write_loop(pid, at, sleep_loop, sizeof(sleep_loop));
	for (size_t i = 0; i < n; i++)
		send_to(threads[i], at);
	/* The end of this process lets all of them go on. */
}

#else

static void hang(pid_t pid, bool is_all, bool computes)
{
	exit(SKIPPED);
}

#endif

int main(int argc, char **argv)
{
	if (argc != 4)
		return 64;
	hang(atoi(argv[1]), strcmp(argv[2], "all") == 0, strcmp(argv[3], "compute") == 0);
	return 0;
}
