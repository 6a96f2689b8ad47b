/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/history/history-rows.h"

struct clv_error;

/* The history file: a header and blocks, none of which refers to another one, so that no
 * crash can lose more than the block that was being written loses.  It grows to its bound
 * and no further; a new block then takes the place of one whose time is over, or else of
 * the one that has had most of its time: seconds are kept for an hour, minutes for a
 * month, and under pressure both for less, in the same proportion. */
struct clv_history_file;

#define CLV_HISTORY_FILE_MAX_BYTES (UINT32_C(64) << 20)
#define CLV_HISTORY_SECONDS_KEPT 3600
#define CLV_HISTORY_MINUTES_KEPT (31 * 86400)

/* Opens or makes it.  A file that is none is put aside: *ret_aside (not NULL, of
 * path_bytes) is then its new name, else "".  most_bytes 0: the above.  -EBUSY: another
 * agent has it. */
int clv_history_file_open(const char *path, uint32_t most_bytes,
	struct clv_history_file **ret, char *ret_aside, size_t aside_bytes,
	struct clv_error *err);
struct clv_history_file *clv_history_file_free(struct clv_history_file *file);

/* How many blocks were found damaged so far, and how many there are. */
uint32_t clv_history_file_damaged(const struct clv_history_file *file);
uint32_t clv_history_file_blocks(const struct clv_history_file *file);

/* A place for a new block; nobody else gets it before it is released.  now: seconds since
 * 1970.  -ENOSPC: all are in use. */
int clv_history_file_take(struct clv_history_file *file, int64_t now, uint32_t *ret_at,
	uint64_t *ret_serial);

/* 0 or the errno of writing. */
int clv_history_file_write(struct clv_history_file *file, uint32_t at,
	const struct clv_history_block *block);

/* No more is written to it: it may go when its time has come.  keep false: now. */
void clv_history_file_release(struct clv_history_file *file, uint32_t at, bool keep);

/* Takes the series' last block to go on with, if it has one: 0, or -ENOENT. */
int clv_history_file_resume(struct clv_history_file *file,
	const struct clv_history_key *key, uint32_t step, uint32_t *ret_at,
	struct clv_history_block *ret);

/* Calls for each block of the series with rows from one moment to before another one,
 * the earlier serial first.  0 or the errno of reading. */
typedef void (*clv_history_block_fn)(
	void *userdata, uint32_t at, const struct clv_history_block *block);
int clv_history_file_find(struct clv_history_file *file,
	const struct clv_history_key *key, uint32_t step, int64_t from, int64_t to,
	clv_history_block_fn callback, void *userdata);

/* The key of any block of this kind and name, which tells its owner.  -ENOENT. */
int clv_history_file_key(
	struct clv_history_file *file, struct clv_history_key *key_with_owner);
