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
 * Rows are only ever added behind those that are there, and which of them count is said
 * by one of two commits, written in turn, each with a checksum of all the rows that it
 * counts.  So a write that is torn leaves the block as it was one commit before. */

struct clv_history_column_info {
	const char *name;
	uint32_t parts; /* of one: 10000 for a fraction in hundredths of a percent */
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

/* What a series is of.  No padding: it is compared and kept as bytes. */
#define CLV_HISTORY_NAME_MAX 80u
struct clv_history_key {
	uint32_t kind;
	uint32_t owner; /* the user whose it is; (uid_t)-1: all users' */
	char name[CLV_HISTORY_NAME_MAX];
};

#define CLV_HISTORY_SECOND 1u
#define CLV_HISTORY_MINUTE 60u

struct clv_history_commit {
	uint32_t turn; /* the later one counts */
	uint32_t n_used;
	uint32_t n_rows; /* in the payload */
	uint32_t run;    /* and the last one so many times more */
	uint32_t payload_sum;
	uint32_t sum; /* of the above */
};

#define CLV_HISTORY_BLOCK_BYTES 1024u
#define CLV_HISTORY_PAYLOAD_BYTES 860u
/* So that a series that does not change gets a new block now and then too. */
#define CLV_HISTORY_ROWS_MAX 4096u

struct clv_history_block {
	uint32_t magic;
	uint32_t step;   /* seconds from one row to the next */
	uint64_t serial; /* the later block counts where two have the same moment */
	int64_t start;   /* of the first row, in seconds since 1970 */
	struct clv_history_key key;
	uint32_t sum; /* of the above */
	struct clv_history_commit commits[2];
	uint8_t payload[CLV_HISTORY_PAYLOAD_BYTES];
};
static_assert(sizeof(struct clv_history_block) == CLV_HISTORY_BLOCK_BYTES, "no holes");

/* Where the writer of a block stands. */
struct clv_history_writer {
	struct clv_history_row last;
	uint32_t n_used, n_rows, run;
	uint32_t payload_sum;
	uint32_t turn;
};

void clv_history_begin(struct clv_history_block *block, struct clv_history_writer *writer,
	const struct clv_history_key *key, uint32_t step, uint64_t serial, int64_t start);

/* Another serial than the one that it was begun with. */
void clv_history_renumber(struct clv_history_block *block, uint64_t serial);

/* One more row, or moments without one.  -ENOSPC: the block is full. */
int clv_history_append(struct clv_history_block *block, struct clv_history_writer *writer,
	const struct clv_history_row *row);
int clv_history_skip(struct clv_history_block *block, struct clv_history_writer *writer,
	uint32_t n_moments);

/* From now on all of it counts. */
void clv_history_commit(
	struct clv_history_block *block, struct clv_history_writer *writer);

/* Whether it is a block; then how many moments it has (0: nothing was committed), by its
 * commits alone.  -EBADMSG. */
int clv_history_check(const struct clv_history_block *block, uint32_t *ret_n_rows);

/* The rows of a block that came from outside, in order; has_row false: nothing is known
 * of that moment.  ret (may be NULL) is where to go on writing.  -EBADMSG: what follows
 * is damaged. */
typedef void (*clv_history_row_fn)(
	void *userdata, int64_t time, bool has_row, const struct clv_history_row *row);
int clv_history_read(const struct clv_history_block *block, clv_history_row_fn callback,
	void *userdata, struct clv_history_writer *ret);
