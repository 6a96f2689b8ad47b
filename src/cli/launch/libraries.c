/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the paths where glibc's loader searches for a library.  The library is not
 * loaded, since a driver may be slow or hang. */
#include "cli/launch/libraries.h"

#include "base/cleanup.h"
#include "base/paths.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE "/etc/ld.so.cache"
#define MAGIC "glibc-ld.so.cache1.1"

/* The format of ldconfig since glibc 2.2; offsets are from the start of the file. */
struct cache_head {
	char magic[sizeof(MAGIC) - 1];
	uint32_t n_entries;
	uint32_t string_bytes;
	uint32_t unused[5];
};
struct cache_entry {
	int32_t flags;
	uint32_t soname, path;
	uint32_t os_version;
	uint64_t hardware;
};

static const char *const folders[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};

static const char *text_at(const char *bytes, size_t n_bytes, uint32_t offset)
{
	if (offset >= n_bytes || !memchr(bytes + offset, '\0', n_bytes - offset))
		return "";
	return bytes + offset;
}

void clv_libraries_of_cache(const void *cache, size_t n_bytes, const char *soname,
	void (*found)(void *userdata, const char *path), void *userdata)
{
	const char *bytes = cache;
	struct cache_entry entry;
	struct cache_head head;
	size_t at = sizeof(head);

	if (n_bytes < sizeof(head))
		return;
	memcpy(&head, cache, sizeof(head));
	if (memcmp(head.magic, MAGIC, sizeof(head.magic)) != 0)
		return;
	for (uint32_t i = 0; i < head.n_entries && n_bytes - at >= sizeof(entry); i++) {
		memcpy(&entry, bytes + at, sizeof(entry));
		at += sizeof(entry);
		if (strcmp(text_at(bytes, n_bytes, entry.soname), soname) == 0)
			found(userdata, text_at(bytes, n_bytes, entry.path));
	}
}

static void look_in_cache(const char *soname,
	void (*found)(void *userdata, const char *path), void *userdata)
{
	_cleanup_close_ int fd = open(CACHE, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
		return;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return;
	clv_libraries_of_cache(bytes, (size_t)st.st_size, soname, found, userdata);
	munmap(bytes, (size_t)st.st_size);
}

void clv_libraries_in(const char *list, const char *soname,
	void (*found)(void *userdata, const char *path), void *userdata)
{
	char path[CLV_PATH_MAX];

	while (list && *list) {
		int n = (int)strcspn(list, ":;");

		snprintf(
			path, sizeof(path), "%.*s/%s", n ? n : 1, n ? list : ".", soname);
		found(userdata, path);
		list += n + (list[n] != '\0');
	}
}

void clv_libraries_each(const char *soname,
	void (*found)(void *userdata, const char *path), void *userdata)
{
	char path[CLV_PATH_MAX];

	clv_libraries_in(getenv("LD_LIBRARY_PATH"), soname, found, userdata);
	look_in_cache(soname, found, userdata);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], soname);
		found(userdata, path);
	}
}
