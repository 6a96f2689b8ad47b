/* SPDX-License-Identifier: Apache-2.0 */
/* The history file with any bytes. The first byte says whether the input is a whole file,
 * or the rest of a block with correct checksums, so that the code after the checks is
 * reached too. */
#include "fuzz.h"

#include "agent/history/history-series.h"
#include "base/crc32.h"
#include "base/error.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static uint32_t n_rows;

static void count(
	void *userdata, int64_t time, bool has_row, const struct clv_history_row *row)
{
	const struct clv_history_block *block = userdata;

	CLV_MUST(time == block->start + (int64_t)block->step * n_rows);
	n_rows++;
}

/* A block that can be read can be appended to. */
static void go_on(struct clv_history_block *block, struct clv_history_writer *writer)
{
	struct clv_history_row row = {.values = {1, 2, 3}};
	uint32_t n_before = n_rows, n_after;

	if (clv_history_append(block, writer, &row) < 0)
		return;
	clv_history_commit(block, writer);
	CLV_MUST(clv_history_check(block, &n_after) == 0);
	n_rows = 0;
	CLV_MUST(clv_history_read(block, count, block, NULL) == 0);
	CLV_MUST(n_rows == n_before + 1);
}

static void try_block(const uint8_t *data, size_t n_bytes)
{
	struct clv_history_key key = {.kind = CLV_HISTORY_TENANT, .name = "a"};
	struct clv_history_commit *commit;
	struct clv_history_writer writer;
	struct clv_history_block block;
	uint32_t n_said;

	clv_history_begin(&block, &writer, &key, n_bytes % 2 ? 1 : 60, 1, 1000);
	commit = &block.commits[1];
	if (n_bytes < 8)
		return;
	memcpy(&commit->n_rows, data, 4);
	memcpy(&commit->run, data + 4, 4);
	data += 8;
	n_bytes -= 8;
	if (n_bytes > sizeof(block.payload))
		n_bytes = sizeof(block.payload);
	memcpy(block.payload, data, n_bytes);
	commit->turn = 1;
	commit->n_used = (uint32_t)n_bytes;
	commit->payload_sum = clv_crc32(0, block.payload, n_bytes);
	commit->sum = clv_crc32(0, commit, offsetof(struct clv_history_commit, sum));
	CLV_MUST(clv_history_check(&block, &n_said) == 0);
	n_rows = 0;
	if (clv_history_read(&block, count, &block, &writer) < 0)
		return;
	CLV_MUST(n_rows == n_said && n_rows <= CLV_HISTORY_ROWS_MAX);
	go_on(&block, &writer);
}

static void try_file(const uint8_t *data, size_t n_bytes)
{
	struct clv_history_key key = {.kind = CLV_HISTORY_DEVICE, .name = "gpu0"};
	static const char path[] = "/dev/shm/clv-fuzz-history";
	static struct clv_history_row rows[64];
	static bool has_row[64];
	struct clv_history_series *owner = NULL;
	struct clv_history_book book;
	char aside[64];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		return;
	CLV_MUST(write(fd, data, n_bytes) == (ssize_t)n_bytes);
	close(fd);
	clv_history_book_init(&book);
	CLV_MUST(clv_history_file_open(
			 path, 64 << 10, &book.file, aside, sizeof(aside), NULL) == 0);
	clv_history_get(&book, &key, 1, 1000, 1064, 64, rows, has_row);
	clv_history_series_get(&book, &owner, CLV_HISTORY_DEVICE, "gpu0", 0);
	CLV_MUST(owner);
	for (int i = 0; i < 200; i++)
		clv_history_series_put(&book, owner, 1064 + i, &rows[i % 64]);
	clv_history_book_done(&book, 2000);
	CLV_MUST(!owner);
	unlink(path);
	if (aside[0] != '\0')
		unlink(aside);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	if (n_bytes == 0)
		return 0;
	if (data[0] % 8 == 0)
		try_file(data + 1, n_bytes - 1);
	else
		try_block(data + 1, n_bytes - 1);
	return 0;
}
