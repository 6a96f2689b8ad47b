/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/history/history-rows.h"

struct clv_error;

/* The history file: a header, and blocks that do not refer to each other, so that a crash
 * damages at most the block that was being written.  It grows to its bound.  Then a new
 * block overwrites an expired block, or else the one that has used up most of its time:
 * seconds are kept for an hour, minutes for a month, and under pressure both for less, in
 * the same proportion. */
struct clv_history_file;

#define CLV_HISTORY_FILE_MAX_BYTES (UINT32_C(64) << 20)
#define CLV_HISTORY_SECONDS_KEPT 3600
#define CLV_HISTORY_MINUTES_KEPT (31 * 86400)

/* Opens or creates the file.  A file that is not a history is renamed: ret_renamed, of
 * aside_bytes, is then its new name, else "".  most_bytes: the bound; 0:
 * CLV_HISTORY_FILE_MAX_BYTES.  -EBUSY: another agent has the file. */
int clv_history_file_open(const char *path, uint32_t most_bytes,
	struct clv_history_file **ret, char *ret_renamed, size_t aside_bytes,
	struct clv_error *err);
struct clv_history_file *clv_history_file_free(struct clv_history_file *file);

/* The number of damaged blocks found at opening, and the number of all blocks. */
uint32_t clv_history_file_damaged(const struct clv_history_file *file);
uint32_t clv_history_file_blocks(const struct clv_history_file *file);

/* Reserves a place for a new block until it is released; *ret_serial is the block's.
 * now: seconds since 1970.  -ENOSPC: all blocks are open; -ENOMEM. */
int clv_history_file_take(struct clv_history_file *file, int64_t now, uint32_t *ret_at,
	uint64_t *ret_serial);

/* Writes the block to its place.  0 or a negative errno. */
int clv_history_file_write(struct clv_history_file *file, uint32_t at,
	const struct clv_history_block *block);

/* Ends the writing of a block: it is kept until its time is over.  keep false: it is free
 * at once. */
void clv_history_file_release(struct clv_history_file *file, uint32_t at, bool keep);

/* Reads the series' last block and reserves it for more rows.  -ENOENT: there is none. */
int clv_history_file_resume(struct clv_history_file *file,
	const struct clv_history_key *key, uint32_t step, uint32_t *ret_at,
	struct clv_history_block *ret);

/* Calls back for each block of the series with rows from one moment (from) to before
 * another (to), by serial.  0 or a negative errno. */
typedef void (*clv_history_block_fn)(
	void *userdata, uint32_t at, const struct clv_history_block *block);
int clv_history_file_find(struct clv_history_file *file,
	const struct clv_history_key *key, uint32_t step, int64_t from, int64_t to,
	clv_history_block_fn callback, void *userdata);

/* Sets the owner in a key from any block of its kind and name.  -ENOENT: there is none.
 */
int clv_history_file_key(
	struct clv_history_file *file, struct clv_history_key *key_with_owner);
