/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/exported.h"

#include "arbiter/attach.h"
#include "base/array.h"
#include "base/watched.h"

#include <linux/kcmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_same_file(int a, int b)
{
	pid_t self = getpid();

	return syscall(SYS_kcmp, self, self, KCMP_FILE, a, b) == 0;
}

void clv_exported_add(struct clv_exported *exported, int fd)
{
	bool is_known = false;

	for (uint32_t i = 0; i < exported->n_fds; i++)
		is_known |= is_same_file(exported->fds[i], fd);
	if (!is_known && exported->n_fds < CLV_EXPORTED_LISTS) {
		exported->fds[exported->n_fds++] = fd;
		return;
	}
	exported->is_partial |= !is_known;
	close(fd);
}

void clv_exported_close(struct clv_exported *exported)
{
	while (exported->n_fds > 0)
		close(exported->fds[--exported->n_fds]);
}

/* The data of the watched files. */
struct files {
	uint64_t *items;
	size_t n;
	uint64_t uncounted_bytes; /* of those for which there was no memory */
};

static void add_file(uint64_t data, void *userdata)
{
	struct files *files = userdata;
	uint64_t *item = CLV_APPEND(files->items, files->n);

	if (item)
		*item = data;
	else
		files->uncounted_bytes += CLV_ATTACH_EXPORT_BYTES(data);
}

static int compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* Several files may be of the same memory, and several instances may watch a file. */
static uint64_t sum(struct files *files)
{
	uint64_t n_bytes = files->uncounted_bytes;

	if (files->n > 0)
		qsort(files->items, files->n, sizeof(*files->items), compare);
	for (size_t i = 0; i < files->n; i++) {
		if (i == 0 || files->items[i] != files->items[i - 1])
			n_bytes += CLV_ATTACH_EXPORT_BYTES(files->items[i]);
	}
	return n_bytes;
}

bool clv_exported_sum(const struct clv_exported *exported, uint64_t *ret_bytes)
{
	bool is_complete = !exported->is_partial;
	struct files files = {0};

	for (uint32_t i = 0; is_complete && i < exported->n_fds; i++)
		is_complete = clv_watched_visit(exported->fds[i], add_file, &files);
	if (is_complete)
		*ret_bytes = sum(&files);
	free(files.items);
	return is_complete;
}
