/* SPDX-License-Identifier: Apache-2.0 */
/* Marks on open files, as OFD locks, read back from /proc. */
#include "gate/memory/file-marks.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_MAX_BYTES 256

bool clv_file_mark_put(int fd, const struct clv_file_mark *mark)
{
	struct flock lock = {.l_type = F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)mark->number,
		.l_len = (off_t)mark->process + 1};

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* Parses an OFD lock as /proc shows it: "1: OFDLCK ADVISORY READ -1 00:06:3 7 9", after
 * "lock:" in fdinfo. */
static bool read_line(const char *line, struct clv_file_mark *ret)
{
	unsigned long long first, last;

	if (sscanf(line, " lock: %*d: OFDLCK ADVISORY READ %*d %*x:%*x:%*u %llu %llu",
		    &first, &last) != 2 &&
		sscanf(line, "%*d: OFDLCK ADVISORY READ %*d %*x:%*x:%*u %llu %llu",
			&first, &last) != 2)
		return false;
	*ret = (struct clv_file_mark){.number = first, .process = last - first};
	return true;
}

static bool visit_file(const char *path,
	void (*visit)(const struct clv_file_mark *mark, void *userdata), void *userdata)
{
	FILE *file = fopen(path, "re");
	struct clv_file_mark mark;
	char line[LINE_MAX_BYTES];
	bool is_complete;

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (read_line(line, &mark))
			visit(&mark, userdata);
	}
	is_complete = !ferror(file);
	fclose(file);
	return is_complete;
}

struct search {
	uint64_t first, last;
	bool is_found;
	struct clv_file_mark found;
};

static void find(const struct clv_file_mark *mark, void *userdata)
{
	struct search *search = userdata;

	if (search->is_found || mark->number < search->first ||
		mark->number > search->last)
		return;
	search->found = *mark;
	search->is_found = true;
}

bool clv_file_mark_find(int fd, uint64_t first, uint64_t last, struct clv_file_mark *ret)
{
	struct search search = {.first = first, .last = last};
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (!visit_file(path, find, &search) || !search.is_found)
		return false;
	*ret = search.found;
	return true;
}

bool clv_file_marks_visit(
	void (*visit)(const struct clv_file_mark *mark, void *userdata), void *userdata)
{
	return visit_file("/proc/locks", visit, userdata);
}
