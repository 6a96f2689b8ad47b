/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/history/history-file.h"
#include "agent/history/history-time.h"

#include <sys/queue.h>

/* The series that are being written, and reading of all.  Time is an argument.  Loop
 * thread only. */

/* One resolution of a series. */
struct clv_history_track {
	struct clv_history_block *block; /* NULL: none is begun */
	struct clv_history_writer writer;
	uint32_t at; /* its place in the file; CLV_HISTORY_NOWHERE: in memory alone */
	int64_t last;
	bool is_dirty;
};
#define CLV_HISTORY_NOWHERE UINT32_MAX

struct clv_history_series {
	TAILQ_ENTRY(clv_history_series) entry;
	struct clv_history_key key;
	uint32_t number; /* says when it is its turn to be written */
	bool is_known;   /* what an earlier agent wrote has been looked for */
	bool is_seen;    /* since the last clv_history_end_unseen() */
	struct clv_history_track seconds, minutes;
	struct clv_history_fold fold;
	struct clv_history_series **owner; /* set to NULL when it ends */
};

struct clv_history_book {
	struct clv_history_file *file; /* NULL: there is none at present */
	TAILQ_HEAD(clv_history_list, clv_history_series) series;
	uint32_t n_series, n_begun;
	uint64_t n_failed; /* writes */
	int problem;       /* of the last write; 0: it worked */
};

void clv_history_book_init(struct clv_history_book *book);
/* Writes what is left and closes the file. */
void clv_history_book_done(struct clv_history_book *book, int64_t now);

/* The series in *owner, begun if there is none; NULL without memory. */
struct clv_history_series *clv_history_series_get(struct clv_history_book *book,
	struct clv_history_series **owner, enum clv_history_kind kind, const char *name,
	uint32_t user);

/* What is at this second.  The rows' maxima are not looked at. */
void clv_history_series_put(struct clv_history_book *book,
	struct clv_history_series *series, int64_t now,
	const struct clv_history_row *row);

/* Writes what is new in the file. */
void clv_history_series_flush(
	struct clv_history_book *book, struct clv_history_series *series, int64_t now);

/* What it is of is gone: its last minute is written as it is.  NULL is fine. */
void clv_history_series_end(
	struct clv_history_book *book, struct clv_history_series *series, int64_t now);
void clv_history_end_unseen(struct clv_history_book *book, int64_t now);

/* Whether there is such a series, now or still in the file; then its owner. */
bool clv_history_find(struct clv_history_book *book, struct clv_history_key *key);

/* The rows from one moment on; has_row is false where nothing is known.  n of each.  0 or
 * the errno of reading. */
int clv_history_get(struct clv_history_book *book, const struct clv_history_key *key,
	uint32_t step, int64_t from, int64_t now, size_t n, struct clv_history_row *rows,
	bool *has_row);
