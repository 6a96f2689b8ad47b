/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/self.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static uint64_t read_resident(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* From Linux 6.2 on the size of the folder is the number of descriptors. */
static uint32_t count_fds(void)
{
	const struct dirent *entry;
	struct stat about;
	uint32_t n = 0;
	DIR *folder;

	if (stat("/proc/self/fd", &about) == 0 && about.st_size > 0)
		return (uint32_t)about.st_size;
	folder = opendir("/proc/self/fd");
	if (!folder)
		return 0;
	while ((entry = readdir(folder)))
		n += entry->d_name[0] != '.';
	closedir(folder);
	return n - 1; /* without the descriptor of the folder itself */
}

void clv_self_read(struct clv_self *ret)
{
	struct rusage usage = {0};

	getrusage(RUSAGE_SELF, &usage);
	*ret = (struct clv_self){
		.cpu_seconds = seconds(&usage.ru_utime) + seconds(&usage.ru_stime),
		.resident_bytes = read_resident(),
		.n_fds = count_fds(),
	};
}
