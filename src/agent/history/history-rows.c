/* SPDX-License-Identifier: Apache-2.0 */
/* The encoding of rows: a mask of the columns that differ from the row before, and the
 * differences as varints, whose sign is folded.  A mask of zero is followed by a run: how
 * often the row before is repeated, or how many moments have no row.  So an idle lease
 * needs a block an hour, and a busy one half a dozen bytes a row. */
#include "agent/history/history-rows.h"

#include "base/crc32.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAGIC 0x43484c43u /* "CLHC" */
#define VARINT_MAX 10u
#define ROW_MAX (1 + VARINT_MAX + 1 + _CLV_HISTORY_COLUMN_MAX * VARINT_MAX)

const struct clv_history_column_info clv_history_columns[_CLV_HISTORY_COLUMN_MAX] = {
	[CLV_HISTORY_SHARE_USED] = {"share_used", 10000},
	[CLV_HISTORY_SHARE_PROMISED] = {"share_promised", 1000000},
	[CLV_HISTORY_MEMORY_USED] = {"memory_used_bytes", 1},
	[CLV_HISTORY_MEMORY_QUOTA] = {"memory_quota_bytes", 1},
	[CLV_HISTORY_WAITING] = {"waiting", 10000},
	[CLV_HISTORY_THROTTLED] = {"throttled", 10000},
	[CLV_HISTORY_SHARE_USED_MAX] = {"share_used_max", 10000},
	[CLV_HISTORY_MEMORY_USED_MAX] = {"memory_used_max_bytes", 1},
};

static uint32_t sum_of_header(const struct clv_history_block *block)
{
	return clv_crc32(0, block, offsetof(struct clv_history_block, sum));
}

static uint32_t sum_of_commit(const struct clv_history_commit *commit)
{
	return clv_crc32(0, commit, offsetof(struct clv_history_commit, sum));
}

/* Writing. */

static uint8_t *put_number(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/* Zigzag encoding: small differences of either sign become small unsigned numbers. */
static uint64_t fold_sign(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static uint8_t *put_run(uint8_t *at, const struct clv_history_writer *writer)
{
	if (writer->run == 0)
		return at;
	*at++ = 0;
	return put_number(at, (uint64_t)writer->run << 1);
}

static uint8_t *put_row(uint8_t *at, const struct clv_history_row *before,
	const struct clv_history_row *row)
{
	uint8_t *mask = at++;

	*mask = 0;
	for (unsigned int i = 0; i < _CLV_HISTORY_COLUMN_MAX; i++) {
		if (row->values[i] == before->values[i])
			continue;
		*mask |= (uint8_t)(1u << i);
		at = put_number(at, fold_sign(row->values[i] - before->values[i]));
	}
	return at;
}

static int add(struct clv_history_block *block, struct clv_history_writer *writer,
	const uint8_t *bytes, const uint8_t *end)
{
	size_t n = (size_t)(end - bytes);

	if (writer->n_used + n > CLV_HISTORY_PAYLOAD_BYTES)
		return -ENOSPC;
	memcpy(block->payload + writer->n_used, bytes, n);
	writer->payload_sum = clv_crc32(writer->payload_sum, bytes, n);
	writer->n_used += (uint32_t)n;
	writer->n_rows += writer->run;
	writer->run = 0;
	return 0;
}

void clv_history_begin(struct clv_history_block *block, struct clv_history_writer *writer,
	const struct clv_history_key *key, uint32_t step, uint64_t serial, int64_t start)
{
	*writer = (struct clv_history_writer){0};
	*block = (struct clv_history_block){
		.magic = MAGIC,
		.step = step,
		.serial = serial,
		.start = start,
		.key = *key,
	};
	block->sum = sum_of_header(block);
}

void clv_history_renumber(struct clv_history_block *block, uint64_t serial)
{
	block->serial = serial;
	block->sum = sum_of_header(block);
}

int clv_history_append(struct clv_history_block *block, struct clv_history_writer *writer,
	const struct clv_history_row *row)
{
	uint8_t bytes[ROW_MAX];
	int r;

	if (writer->n_rows + writer->run >= CLV_HISTORY_ROWS_MAX)
		return -ENOSPC;
	if (memcmp(row, &writer->last, sizeof(*row)) == 0) {
		writer->run++;
		return 0;
	}
	r = add(block, writer, bytes,
		put_row(put_run(bytes, writer), &writer->last, row));
	if (r < 0)
		return r;
	writer->n_rows++;
	writer->last = *row;
	return 0;
}

int clv_history_skip(struct clv_history_block *block, struct clv_history_writer *writer,
	uint32_t n_moments)
{
	uint8_t bytes[ROW_MAX], *at = put_run(bytes, writer);
	int r;

	if (n_moments == 0)
		return 0;
	if (writer->n_rows + writer->run + n_moments > CLV_HISTORY_ROWS_MAX)
		return -ENOSPC;
	*at++ = 0;
	r = add(block, writer, bytes, put_number(at, (uint64_t)n_moments << 1 | 1));
	if (r >= 0)
		writer->n_rows += n_moments;
	return r;
}

void clv_history_commit(
	struct clv_history_block *block, struct clv_history_writer *writer)
{
	struct clv_history_commit *commit = &block->commits[++writer->turn % 2];

	*commit = (struct clv_history_commit){
		.turn = writer->turn,
		.n_used = writer->n_used,
		.n_rows = writer->n_rows,
		.run = writer->run,
		.payload_sum = writer->payload_sum,
	};
	commit->sum = sum_of_commit(commit);
}

/* Reading. */

static bool commit_is_good(const struct clv_history_commit *commit)
{
	return commit->turn > 0 && commit->sum == sum_of_commit(commit) &&
	       commit->n_used <= CLV_HISTORY_PAYLOAD_BYTES &&
	       commit->n_rows <= CLV_HISTORY_ROWS_MAX &&
	       commit->run <= CLV_HISTORY_ROWS_MAX - commit->n_rows;
}

/* The later of the valid commits; NULL: neither is valid. */
static const struct clv_history_commit *find_commit(
	const struct clv_history_block *block, bool checks_payload)
{
	const struct clv_history_commit *found = NULL;

	for (unsigned int i = 0; i < 2; i++) {
		const struct clv_history_commit *commit = &block->commits[i];

		if (!commit_is_good(commit) || (found && found->turn > commit->turn))
			continue;
		if (!checks_payload || commit->payload_sum == clv_crc32(0, block->payload,
								      commit->n_used))
			found = commit;
	}
	return found;
}

int clv_history_check(const struct clv_history_block *block, uint32_t *ret_n_rows)
{
	const struct clv_history_commit *commit;

	if (block->magic != MAGIC || block->sum != sum_of_header(block) ||
		(block->step != CLV_HISTORY_SECOND &&
			block->step != CLV_HISTORY_MINUTE) ||
		block->key.kind >= _CLV_HISTORY_KIND_MAX || block->start < 0 ||
		block->start > INT64_MAX / 2 ||
		!memchr(block->key.name, '\0', sizeof(block->key.name)))
		return -EBADMSG;
	commit = find_commit(block, false);
	*ret_n_rows = commit ? commit->n_rows + commit->run : 0;
	return 0;
}

struct reader {
	const struct clv_history_block *block;
	clv_history_row_fn callback;
	void *userdata;
	const struct clv_history_commit *commit;
	uint32_t at, n_rows;
	struct clv_history_row last;
};

static int get_number(struct reader *reader, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (reader->at >= reader->commit->n_used)
			return -EBADMSG;
		byte = reader->block->payload[reader->at++];
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return 0;
		}
	}
	return -EBADMSG;
}

static int emit_moments(struct reader *reader, uint64_t n, bool has_row)
{
	const struct clv_history_block *block = reader->block;

	if (n > CLV_HISTORY_ROWS_MAX - reader->n_rows)
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++) {
		int64_t time = block->start + (int64_t)block->step * reader->n_rows++;

		if (reader->callback)
			reader->callback(reader->userdata, time, has_row, &reader->last);
	}
	return 0;
}

static int get_row(struct reader *reader, uint8_t mask)
{
	uint64_t value;

	for (unsigned int i = 0; i < _CLV_HISTORY_COLUMN_MAX; i++) {
		if (!(mask >> i & 1))
			continue;
		if (get_number(reader, &value) < 0)
			return -EBADMSG;
		reader->last.values[i] += value >> 1 ^ (0 - (value & 1));
	}
	return emit_moments(reader, 1, true);
}

int clv_history_read(const struct clv_history_block *block, clv_history_row_fn callback,
	void *userdata, struct clv_history_writer *ret)
{
	struct reader reader = {
		.block = block,
		.callback = callback,
		.userdata = userdata,
		.commit = find_commit(block, true),
	};
	uint64_t n;
	int r = reader.commit ? 0 : -EBADMSG;

	while (r >= 0 && reader.at < reader.commit->n_used) {
		uint8_t mask = block->payload[reader.at++];

		if (mask != 0)
			r = get_row(&reader, mask);
		else if ((r = get_number(&reader, &n)) >= 0)
			r = emit_moments(&reader, n >> 1, !(n & 1));
	}
	if (r < 0 || reader.n_rows != reader.commit->n_rows)
		return -EBADMSG;
	r = emit_moments(&reader, reader.commit->run, true);
	if (r >= 0 && ret)
		*ret = (struct clv_history_writer){
			.last = reader.last,
			.n_used = reader.commit->n_used,
			.n_rows = reader.commit->n_rows,
			.run = reader.commit->run,
			.payload_sum = reader.commit->payload_sum,
			.turn = reader.commit->turn,
		};
	return r;
}
