/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the agent, and so into its worker, which it replaces: the answer to each
 * request is the content of the file CLEAVE_LIE, whose own line feed is dropped. An empty
 * file ends the worker. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void answer(const char *path)
{
	char data[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n, total = 0;

	while (fd >= 0 && (n = read(fd, data, sizeof(data))) > 0) {
		total += n;
		if (write(STDOUT_FILENO, data, (size_t)n) != n)
			break;
	}
	close(fd);
	if (total == 0)
		_exit(1);
}

__attribute__((constructor)) static void lie(void)
{
	const char *path = getenv("CLEAVE_LIE");
	char line[4096] = "", question[65536];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0 || !path || access(path, F_OK) < 0)
		return;
	if (!memmem(line, (size_t)n, "--drivers", strlen("--drivers")))
		return;
	while (read(STDIN_FILENO, question, sizeof(question)) > 0)
		answer(path);
	_exit(0);
}
