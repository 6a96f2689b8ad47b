/* SPDX-License-Identifier: Apache-2.0 */
/* Series in memory.  Each has at most one open block of seconds and one of minutes, which
 * are written to the file when it is the series' turn and when they are full. */
#include "agent/history/history-series.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void clv_history_book_init(struct clv_history_book *book)
{
	*book = (struct clv_history_book){0};
	TAILQ_INIT(&book->series);
}

void clv_history_book_done(struct clv_history_book *book, int64_t now)
{
	struct clv_history_series *series;

	/* The minute is not complete: the next agent continues it. */
	while ((series = TAILQ_FIRST(&book->series))) {
		clv_history_fold_clear(&series->fold);
		clv_history_series_end(book, series, now);
	}
	book->file = clv_history_file_free(book->file);
}

struct clv_history_series *clv_history_series_get(struct clv_history_book *book,
	struct clv_history_series **owner, enum clv_history_kind kind, const char *name,
	uint32_t user)
{
	struct clv_history_series *series = *owner;

	if (!series) {
		series = calloc(1, sizeof(*series));
		if (!series)
			return NULL;
		series->key.kind = kind;
		series->key.owner = user;
		snprintf(series->key.name, sizeof(series->key.name), "%s", name);
		series->number = book->n_begun++;
		series->owner = owner;
		series->seconds.last = series->minutes.last = CLV_HISTORY_NEVER;
		clv_history_fold_clear(&series->fold);
		TAILQ_INSERT_TAIL(&book->series, series, entry);
		book->n_series++;
		*owner = series;
	}
	series->is_seen = true;
	return series;
}

/* Writing. */

static void write_track(
	struct clv_history_book *book, struct clv_history_track *track, int64_t now)
{
	uint64_t serial;
	int r = 0;

	if (!track->block || !track->is_dirty || !book->file)
		return;
	/* The block was begun without a file, or without room in it. */
	if (track->at == CLV_HISTORY_NOWHERE) {
		r = clv_history_file_take(book->file, now, &track->at, &serial);
		if (r >= 0)
			clv_history_renumber(track->block, serial);
	}
	if (r >= 0) {
		clv_history_commit(track->block, &track->writer);
		r = clv_history_file_write(book->file, track->at, track->block);
	}
	book->n_failed += r < 0;
	book->problem = r;
	track->is_dirty = r < 0;
}

static void close_track(
	struct clv_history_book *book, struct clv_history_track *track, int64_t now)
{
	write_track(book, track, now);
	if (track->block && book->file && track->at != CLV_HISTORY_NOWHERE)
		clv_history_file_release(book->file, track->at, true);
	free(track->block);
	track->block = NULL;
	track->is_dirty = false;
}

static void begin_block(struct clv_history_book *book, struct clv_history_series *series,
	struct clv_history_track *track, uint32_t step, int64_t start)
{
	uint64_t serial = 0;

	close_track(book, track, start);
	track->block = malloc(sizeof(*track->block));
	if (!track->block)
		return;
	track->at = CLV_HISTORY_NOWHERE;
	if (book->file &&
		clv_history_file_take(book->file, start, &track->at, &serial) < 0)
		track->at = CLV_HISTORY_NOWHERE;
	clv_history_begin(
		track->block, &track->writer, &series->key, step, serial, start);
}

static void append(struct clv_history_book *book, struct clv_history_series *series,
	struct clv_history_track *track, uint32_t step, int64_t moment,
	const struct clv_history_row *row)
{
	if (track->block &&
		clv_history_append(track->block, &track->writer, row) == -ENOSPC)
		begin_block(book, series, track, step, moment);
	else
		return;
	if (track->block)
		clv_history_append(track->block, &track->writer, row);
}

static void put(struct clv_history_book *book, struct clv_history_series *series,
	struct clv_history_track *track, uint32_t step, int64_t moment,
	const struct clv_history_row *row)
{
	struct clv_history_advance advance =
		clv_history_advance(track->last, moment, step);

	if (advance.n_rows == 0)
		return;
	if (advance.begins || !track->block ||
		clv_history_skip(track->block, &track->writer, advance.n_missing) < 0) {
		begin_block(book, series, track, step, moment);
		advance.n_rows = 1;
	}
	for (uint32_t i = advance.n_rows; i > 0; i--)
		append(book, series, track, step, moment - (int64_t)step * (i - 1), row);
	track->last = moment;
	track->is_dirty = true;
}

static void put_minute(struct clv_history_book *book, struct clv_history_series *series)
{
	struct clv_history_row row;

	if (clv_history_fold_get(&series->fold, &row))
		put(book, series, &series->minutes, CLV_HISTORY_MINUTE,
			series->fold.minute, &row);
	clv_history_fold_clear(&series->fold);
}

/* Resuming the blocks of an earlier agent. */

static void refold(
	void *userdata, int64_t time, bool has_row, const struct clv_history_row *row)
{
	struct clv_history_series *series = userdata;

	if (clv_history_fold_is_over(&series->fold, time))
		clv_history_fold_clear(&series->fold);
	if (has_row)
		clv_history_fold_add(&series->fold, time, row);
}

static void resume(struct clv_history_book *book, struct clv_history_series *series,
	struct clv_history_track *track, uint32_t step, clv_history_row_fn callback)
{
	struct clv_history_block *block = malloc(sizeof(*block));
	uint32_t at;

	if (!block ||
		clv_history_file_resume(book->file, &series->key, step, &at, block) < 0) {
		free(block);
		return;
	}
	if (clv_history_read(block, callback, series, &track->writer) < 0) {
		clv_history_file_release(book->file, at, true);
		free(block);
		return;
	}
	track->block = block;
	track->at = at;
	track->last = block->start +
		      ((int64_t)track->writer.n_rows + track->writer.run - 1) * step;
}

static void resume_blocks(
	struct clv_history_book *book, struct clv_history_series *series)
{
	series->is_known = true;
	if (series->seconds.block) /* begun while there was no file */
		return;
	resume(book, series, &series->minutes, CLV_HISTORY_MINUTE, NULL);
	resume(book, series, &series->seconds, CLV_HISTORY_SECOND, refold);
}

void clv_history_series_put(struct clv_history_book *book,
	struct clv_history_series *series, int64_t now, const struct clv_history_row *row)
{
	struct clv_history_row means = *row;

	means.values[CLV_HISTORY_SHARE_USED_MAX] = 0;
	means.values[CLV_HISTORY_MEMORY_USED_MAX] = 0;
	if (!series->is_known && book->file)
		resume_blocks(book, series);
	put(book, series, &series->seconds, CLV_HISTORY_SECOND, now, &means);
	if (clv_history_fold_is_over(&series->fold, now))
		put_minute(book, series);
	clv_history_fold_add(&series->fold, now, &means);
}

void clv_history_series_flush(
	struct clv_history_book *book, struct clv_history_series *series, int64_t now)
{
	write_track(book, &series->seconds, now);
	write_track(book, &series->minutes, now);
}

void clv_history_series_end(
	struct clv_history_book *book, struct clv_history_series *series, int64_t now)
{
	if (!series)
		return;
	put_minute(book, series);
	close_track(book, &series->seconds, now);
	close_track(book, &series->minutes, now);
	TAILQ_REMOVE(&book->series, series, entry);
	book->n_series--;
	*series->owner = NULL;
	free(series);
}

void clv_history_end_unseen(struct clv_history_book *book, int64_t now)
{
	struct clv_history_series *series = TAILQ_FIRST(&book->series);

	while (series) {
		struct clv_history_series *next = TAILQ_NEXT(series, entry);

		if (!series->is_seen)
			clv_history_series_end(book, series, now);
		else
			series->is_seen = false;
		series = next;
	}
}

/* Reading. */

static struct clv_history_series *find_series(
	const struct clv_history_book *book, const struct clv_history_key *key)
{
	struct clv_history_series *series;

	TAILQ_FOREACH(series, &book->series, entry)
	{
		if (series->key.kind == key->kind &&
			strcmp(series->key.name, key->name) == 0)
			return series;
	}
	return NULL;
}

bool clv_history_find(struct clv_history_book *book, struct clv_history_key *key)
{
	const struct clv_history_series *series = find_series(book, key);

	if (series)
		key->owner = series->key.owner;
	return series || (book->file && clv_history_file_key(book->file, key) >= 0);
}

struct window {
	uint32_t step;
	int64_t from;
	size_t n;
	struct clv_history_row *rows;
	bool *has_row;
};

static void fill(
	void *userdata, int64_t time, bool has_row, const struct clv_history_row *row)
{
	struct window *window = userdata;
	struct clv_history_row *into;
	uint64_t at;

	if (!has_row || time < window->from)
		return;
	at = (uint64_t)(time - window->from) / window->step;
	if (at >= window->n)
		return;
	into = &window->rows[at];
	*into = *row;
	window->has_row[at] = true;
	if (window->step == CLV_HISTORY_MINUTE)
		return;
	into->values[CLV_HISTORY_SHARE_USED_MAX] = row->values[CLV_HISTORY_SHARE_USED];
	into->values[CLV_HISTORY_MEMORY_USED_MAX] = row->values[CLV_HISTORY_MEMORY_USED];
}

static void fill_from(void *userdata, uint32_t at, const struct clv_history_block *block)
{
	/* Damaged rows are missing. */
	clv_history_read(block, fill, userdata, NULL);
}

/* Adds the rows that have not been written to the file. */
static void fill_from_track(struct window *window, struct clv_history_track *track)
{
	if (!track->block || !track->is_dirty)
		return;
	clv_history_commit(track->block, &track->writer);
	fill_from(window, track->at, track->block);
}

int clv_history_get(struct clv_history_book *book, const struct clv_history_key *key,
	uint32_t step, int64_t from, int64_t now, size_t n, struct clv_history_row *rows,
	bool *has_row)
{
	struct window window = {step, from, n, rows, has_row};
	struct clv_history_series *series = find_series(book, key);
	int r = 0;

	memset(has_row, 0, n * sizeof(*has_row));
	if (series && !series->is_known && book->file)
		resume_blocks(book, series);
	if (series)
		clv_history_series_flush(book, series, now);
	if (book->file)
		r = clv_history_file_find(book->file, key, step, from,
			from + (int64_t)(n * step), fill_from, &window);
	if (series)
		fill_from_track(&window,
			step == CLV_HISTORY_MINUTE ? &series->minutes : &series->seconds);
	return r;
}
