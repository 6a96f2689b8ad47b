/* SPDX-License-Identifier: Apache-2.0 */
#include "base/watched.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 256

bool clv_watched_is_list(int fd)
{
	static const char eventpoll[] = "anon_inode:[eventpoll]";
	char path[64], link[sizeof(eventpoll)];
	ssize_t n_bytes;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n_bytes = readlink(path, link, sizeof(link));
	return n_bytes == sizeof(eventpoll) - 1 &&
	       memcmp(link, eventpoll, (size_t)n_bytes) == 0;
}

/* A watched file is such a line: "tfd: 3 events: 18 data: 3 pos:0 ino:8d64e sdev:9". */
bool clv_watched_visit(
	int fd, void (*visit)(uint64_t data, void *userdata), void *userdata)
{
	char path[64], line[LINE_MAX_BYTES];
	unsigned long long data;
	bool is_complete;
	FILE *file;

	if (!clv_watched_is_list(fd))
		return false;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "tfd: %*d events: %*x data: %llx", &data) == 1)
			visit(data, userdata);
	}
	is_complete = !ferror(file);
	fclose(file);
	return is_complete;
}
