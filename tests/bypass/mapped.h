/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A page of a lease that a tenant has mapped. */
struct mapping {
	unsigned char *at; /* NULL: not mapped */
	size_t n_bytes;
};

/* Finds where this process has mapped a page with this name. */
static inline struct mapping look_for_page(const char *name)
{
	struct mapping found = {0};
	unsigned long from, to;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, name) && sscanf(line, "%lx-%lx", &from, &to) == 2)
			found = (struct mapping){(unsigned char *)from, to - from};
	}
	if (maps)
		fclose(maps);
	return found;
}

static inline bool write_through_memory_file(const struct mapping *page)
{
	unsigned char byte = page->at[32];
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	bool written =
		fd >= 0 && pwrite(fd, &byte, 1, (off_t)(uintptr_t)page->at + 32) == 1;

	if (fd >= 0)
		close(fd);
	return written;
}
