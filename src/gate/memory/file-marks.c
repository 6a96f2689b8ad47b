/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/memory/file-marks.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_MAX_BYTES 256

bool clv_file_mark(int fd, uint64_t mark)
{
	struct flock lock = {.l_type = F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)mark,
		.l_len = 1};

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* As /proc shows a lock of an open file's own: "1: OFDLCK ADVISORY READ -1 00:06:3 7 7",
 * behind "lock:" where it is one file's. */
static bool read_line(const char *line, uint64_t *ret)
{
	unsigned long long mark;

	if (sscanf(line, " lock: %*d: OFDLCK ADVISORY READ %*d %*x:%*x:%*u %llu",
		    &mark) != 1 &&
		sscanf(line, "%*d: OFDLCK ADVISORY READ %*d %*x:%*x:%*u %llu", &mark) !=
			1)
		return false;
	*ret = mark;
	return true;
}

static bool visit_file(
	const char *path, void (*visit)(uint64_t mark, void *userdata), void *userdata)
{
	FILE *file = fopen(path, "re");
	char line[LINE_MAX_BYTES];
	bool is_whole;
	uint64_t mark;

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (read_line(line, &mark))
			visit(mark, userdata);
	}
	is_whole = !ferror(file);
	fclose(file);
	return is_whole;
}

struct search {
	uint64_t first, last, found;
};

static void find(uint64_t mark, void *userdata)
{
	struct search *search = userdata;

	if (search->found == 0 && mark >= search->first && mark <= search->last)
		search->found = mark;
}

uint64_t clv_file_mark_of(int fd, uint64_t first, uint64_t last)
{
	struct search search = {first, last, 0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return visit_file(path, find, &search) ? search.found : 0;
}

bool clv_file_marks_visit(void (*visit)(uint64_t mark, void *userdata), void *userdata)
{
	return visit_file("/proc/locks", visit, userdata);
}
