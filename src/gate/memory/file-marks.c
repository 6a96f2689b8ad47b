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

/* Parses an OFD lock as fdinfo shows it: "lock: 1: OFDLCK ADVISORY READ -1 00:06:3 7 9".
 */
static bool read_line(const char *line, struct clv_file_mark *ret)
{
	unsigned long long first, last;

	if (sscanf(line, " lock: %*d: OFDLCK ADVISORY READ %*d %*x:%*x:%*u %llu %llu",
		    &first, &last) != 2)
		return false;
	*ret = (struct clv_file_mark){.number = first, .process = last - first};
	return true;
}

bool clv_file_mark_find(int fd, uint64_t first, uint64_t last, struct clv_file_mark *ret)
{
	char path[64], line[LINE_MAX_BYTES];
	bool is_found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!is_found && fgets(line, sizeof(line), file))
		is_found = read_line(line, ret) && ret->number >= first &&
			   ret->number <= last;
	fclose(file);
	return is_found;
}
