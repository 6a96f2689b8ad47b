/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/exported.h"

#include "arbiter/attach.h"
#include "base/array.h"
#include "base/watched.h"

#include <stddef.h>
#include <stdlib.h>

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

bool clv_exported_sum(const int *fds, uint32_t n_fds, uint64_t *ret_bytes)
{
	struct files files = {0};
	bool is_complete = true;

	for (uint32_t i = 0; i < n_fds; i++)
		is_complete &= clv_watched_visit(fds[i], add_file, &files);
	if (is_complete)
		*ret_bytes = sum(&files);
	free(files.items);
	return is_complete;
}
