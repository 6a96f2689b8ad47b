/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/usage-counters.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block of the history file: rows of one series, a fixed time apart.  Pure: no file and
 * no clock.
 *
 * Rows are only appended.  Two commits, written in turn, say how many rows are valid,
 * each with a checksum of these rows.  So a torn write leaves the block as it was one
 * commit before. */

struct clv_history_column_info {
	const char *name;
	uint32_t parts; /* this many make 1: 10000 for hundredths of a percent */
};
extern const struct clv_history_column_info clv_history_columns[_CLV_HISTORY_COLUMN_MAX];

enum clv_history_kind {
	CLV_HISTORY_DEVICE,
	CLV_HISTORY_PARTITION,
	CLV_HISTORY_LEASE,
	CLV_HISTORY_TENANT,
	_CLV_HISTORY_KIND_MAX,
	_CLV_HISTORY_KIND_INVALID = -22, /* -EINVAL */
};

/* The identity of a series.  No padding: it is checksummed and stored as bytes. */
#define CLV_HISTORY_NAME_MAX 80u
struct clv_history_key {
	uint32_t kind;
	uint32_t owner; /* the tenant's owner; (uid_t)-1: of all users */
	char name[CLV_HISTORY_NAME_MAX];
};

#define CLV_HISTORY_SECOND 1u
#define CLV_HISTORY_MINUTE 60u

struct clv_history_commit {
	uint32_t turn;   /* the commit with the higher turn is used */
	uint32_t n_used; /* bytes of the payload */
	uint32_t n_rows; /* in the payload */
	uint32_t run;    /* how often the last row is repeated after them */
	uint32_t payload_sum;
	uint32_t sum; /* checksum of the members above */
};

#define CLV_HISTORY_BLOCK_BYTES 1024u
#define CLV_HISTORY_PAYLOAD_BYTES 860u
/* So that a series that does not change also gets a new block now and then. */
#define CLV_HISTORY_ROWS_MAX 4096u

struct clv_history_block {
	uint32_t magic;
	uint32_t step;   /* seconds from one row to the next */
	uint64_t serial; /* of rows of the same moment the higher serial is used */
	int64_t start;   /* of the first row, in seconds since 1970 */
	struct clv_history_key key;
	uint32_t sum; /* checksum of the members above */
	struct clv_history_commit commits[2];
	uint8_t payload[CLV_HISTORY_PAYLOAD_BYTES];
};
static_assert(sizeof(struct clv_history_block) == CLV_HISTORY_BLOCK_BYTES, "no holes");

/* The state of the writer of a block. */
struct clv_history_writer {
	struct clv_history_row last;
	uint32_t n_used, n_rows, run;
	uint32_t payload_sum;
	uint32_t turn;
};

/* Begins an empty block. */
void clv_history_begin(struct clv_history_block *block, struct clv_history_writer *writer,
	const struct clv_history_key *key, uint32_t step, uint64_t serial, int64_t start);

/* Changes the block's serial. */
void clv_history_renumber(struct clv_history_block *block, uint64_t serial);

/* Appends one row, or moments without a row.  -ENOSPC: the block is full. */
int clv_history_append(struct clv_history_block *block, struct clv_history_writer *writer,
	const struct clv_history_row *row);
int clv_history_skip(struct clv_history_block *block, struct clv_history_writer *writer,
	uint32_t n_moments);

/* Makes all rows of the block valid. */
void clv_history_commit(
	struct clv_history_block *block, struct clv_history_writer *writer);

/* Checks the head of a block.  *ret_n_rows: how many moments it has by its commits (0:
 * none is valid); the payload is not checked.  -EBADMSG: not a block. */
int clv_history_check(const struct clv_history_block *block, uint32_t *ret_n_rows);

/* Calls back for each moment of an untrusted block, in order; has_row false: there is no
 * row.  ret (may be NULL) gets the state to append to the block.  -EBADMSG: the block is
 * damaged after these moments. */
typedef void (*clv_history_row_fn)(
	void *userdata, int64_t time, bool has_row, const struct clv_history_row *row);
int clv_history_read(const struct clv_history_block *block, clv_history_row_fn callback,
	void *userdata, struct clv_history_writer *ret);
