/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of two processes of one lease (patterns.c). */
#include "pattern.h"

#include <sys/wait.h>
#include <unistd.h>

/* Another process of the lease writes the word that this process's kernel waits for. */
static int write_for_parent(int from_parent)
{
	struct ipc ipc;
	handle stream;
	dptr p;

	if (read(from_parent, &ipc, sizeof(ipc)) != sizeof(ipc))
		return 1;
	begin();
	stream = new_stream(NON_BLOCKING);
	OK(cuIpcOpenMemHandle_v2(&p, ipc, 1));
	for (uint32_t i = 1; i <= N_ROUNDS; i++) {
		relay(stream, p + 4, i - 1, p, i);
		OK(cuStreamSynchronize(stream));
	}
	return 0;
}

uint32_t processes(void)
{
	handle stream;
	struct ipc ipc;
	int ends[2], status;
	pid_t child;
	dptr p;

	if (pipe(ends) != 0)
		exit(1);
	child = fork();
	if (child == 0)
		_exit(write_for_parent(ends[0]));
	begin();
	stream = new_stream(NON_BLOCKING);
	OK(cuMemAlloc_v2(&p, 2 * MIB));
	OK(cuMemsetD32_v2(p, 0, 2));
	OK(cuIpcGetMemHandle(&ipc, p));
	if (write(ends[1], &ipc, sizeof(ipc)) != sizeof(ipc))
		exit(1);
	for (uint32_t i = 1; i <= N_ROUNDS; i++)
		relay(stream, p, i, p + 4, i);
	store(stream, word(1), N_ROUNDS);
	OK(cuStreamSynchronize(stream));
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? words[1] : 0;
}

/* The kernel of one process waits, long past the end of the turn, for the next work that
 * another process of the lease submits. */
static int store_for_parent(int from_parent)
{
	struct ipc ipc;
	handle stream;
	uint32_t i;
	dptr p;

	if (read(from_parent, &ipc, sizeof(ipc)) != sizeof(ipc))
		return 1;
	begin();
	stream = new_stream(NON_BLOCKING);
	OK(cuIpcOpenMemHandle_v2(&p, ipc, 1));
	while (read(from_parent, &i, sizeof(i)) == sizeof(i)) {
		sleep_ms(STANDS_MS);
		store(stream, p, i);
		OK(cuStreamSynchronize(stream));
	}
	return 0;
}

static void tell(int to, const void *bytes, size_t n)
{
	if (write(to, bytes, n) != (ssize_t)n)
		exit(1);
}

uint32_t late_process(void)
{
	handle stream;
	struct ipc ipc;
	int ends[2], status;
	pid_t child;
	dptr p;

	if (pipe(ends) != 0)
		exit(1);
	child = fork();
	if (child == 0) {
		close(ends[1]);
		_exit(store_for_parent(ends[0]));
	}
	begin();
	stream = new_stream(NON_BLOCKING);
	OK(cuMemAlloc_v2(&p, 2 * MIB));
	OK(cuMemsetD32_v2(p, 0, 2));
	OK(cuIpcGetMemHandle(&ipc, p));
	tell(ends[1], &ipc, sizeof(ipc));
	for (uint32_t i = 1; i <= 3; i++) {
		await_word(stream, p, i);
		tell(ends[1], &i, sizeof(i));
		OK(cuStreamSynchronize(stream));
	}
	close(ends[1]);
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 3 : 0;
}
