/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/history/history-file.h"
#include "agent/history/history-time.h"

#include <sys/queue.h>

/* The series that are being written, and queries of all series.  Time is an argument.
 * Loop thread only. */

/* The open block of one resolution of a series. */
struct clv_history_track {
	struct clv_history_block *block; /* NULL: none is open */
	struct clv_history_writer writer;
	uint32_t at;   /* its place in the file; CLV_HISTORY_NOWHERE: only in memory */
	int64_t last;  /* moment of the last row; CLV_HISTORY_NEVER: none */
	bool is_dirty; /* has rows that the file lacks */
};
#define CLV_HISTORY_NOWHERE UINT32_MAX

struct clv_history_series {
	TAILQ_ENTRY(clv_history_series) entry;
	struct clv_history_key key;
	uint32_t number; /* determines the seconds at which it is written */
	bool is_known;   /* an earlier agent's blocks were looked for */
	bool is_seen;    /* since the last clv_history_end_unseen() */
	struct clv_history_track seconds, minutes;
	struct clv_history_fold fold;
	struct clv_history_series **owner; /* *owner is set to NULL at its end */
};

struct clv_history_book {
	struct clv_history_file *file; /* NULL: there is none at present */
	TAILQ_HEAD(clv_history_list, clv_history_series) series;
	uint32_t n_series, n_begun;
	uint64_t n_failed; /* writes */
	int problem;       /* errno of the last write, negative; 0: it succeeded */
};

void clv_history_book_init(struct clv_history_book *book);
/* Ends all series and closes the file. */
void clv_history_book_done(struct clv_history_book *book, int64_t now);

/* The series in *owner, which is created if there is none.  NULL: out of memory. */
struct clv_history_series *clv_history_series_get(struct clv_history_book *book,
	struct clv_history_series **owner, enum clv_history_kind kind, const char *name,
	uint32_t user);

/* Records the row of this second.  The maxima in it are ignored. */
void clv_history_series_put(struct clv_history_book *book,
	struct clv_history_series *series, int64_t now,
	const struct clv_history_row *row);

/* Writes the new rows to the file. */
void clv_history_series_flush(
	struct clv_history_book *book, struct clv_history_series *series, int64_t now);

/* Ends the series of an object that is gone; its last minute is written incomplete.
 * Accepts NULL.  end_unseen ends all series without a row since its last call. */
void clv_history_series_end(
	struct clv_history_book *book, struct clv_history_series *series, int64_t now);
void clv_history_end_unseen(struct clv_history_book *book, int64_t now);

/* Whether there is such a series, in memory or in the file.  Sets the owner in key. */
bool clv_history_find(struct clv_history_book *book, struct clv_history_key *key);

/* Reads n moments from one on; has_row is false for moments without a known row.  0 or a
 * negative errno. */
int clv_history_get(struct clv_history_book *book, const struct clv_history_key *key,
	uint32_t step, int64_t from, int64_t now, size_t n, struct clv_history_row *rows,
	bool *has_row);
