/* SPDX-License-Identifier: Apache-2.0 */
/* The history: which rows are written as the clock runs, which are read from blocks that
 * are torn, cut or damaged, and which are kept when the file is full. */
#include "agent/history/history-series.h"
#include "base/clock.h"
#include "base/crc32.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NOON INT64_C(1800000000) /* a full minute, too */
#define HOUR 3600u

static struct clv_history_row row_of(uint64_t n)
{
	return (struct clv_history_row){
		.values = {
			[CLV_HISTORY_SHARE_USED] = n * 7 % 10001,
			[CLV_HISTORY_SHARE_PROMISED] = 500000,
			[CLV_HISTORY_MEMORY_USED] = n / 30 << 20,
			[CLV_HISTORY_MEMORY_QUOTA] = UINT64_C(80) << 30,
		}};
}

/* The clock. */

static void test_checksum(void **state)
{
	assert_int_equal(clv_crc32(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(clv_crc32(clv_crc32(0, "1234", 4), "56789", 5), 0xcbf43926);
}

static void test_times(void **state)
{
	static const char *const wrong[] = {"", "2026", "2026-01-31",
		"2026-13-01T00:00:00Z", "2026-01-31T12:00:00", "2026-01-31T12:00:00Z ",
		"2026-01-31 12:00:00Z", "1969-01-31T12:00:00Z",
		"2026-01-31T12:00:00+25:00", "2026-01-31T12:00:00+2:00",
		"-026-01-31T12:00:00Z"};
	static const struct {
		const char *text;
		int64_t seconds;
	} right[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"2027-01-15T08:00:00Z", NOON},
		{"2027-01-15T08:00:00.999Z", NOON},
		{"2027-01-15T10:30:00+02:30", NOON},
		{"2027-01-15T10:30:00 02:30", NOON},
		{"2027-01-15T07:00:00-01:00", NOON},
	};
	char text[32];
	int64_t seconds;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(clv_clock_parse_rfc3339(wrong[i], &seconds), -EINVAL);
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		assert_int_equal(clv_clock_parse_rfc3339(right[i].text, &seconds), 0);
		assert_int_equal(seconds, right[i].seconds);
	}
	clv_clock_format_rfc3339((uint64_t)NOON * CLV_NS_PER_S, text);
	assert_int_equal(clv_clock_parse_rfc3339(text, &seconds), 0);
	assert_int_equal(seconds, NOON);
}

static void test_advance(void **state)
{
	static const struct {
		int64_t last, now;
		uint32_t step, n_missing, n_rows;
		bool begins;
	} cases[] = {
		{CLV_HISTORY_NEVER, NOON, 1, 0, 1, true},
		{NOON, NOON + 1, 1, 0, 1, false},
		{NOON, NOON, 1, 0, 0, false},       /* two ticks in a second */
		{NOON, NOON + 2, 1, 0, 2, false},   /* a second without a tick */
		{NOON, NOON + 3, 1, 2, 1, false},   /* the agent was stopped */
		{NOON, NOON + 1025, 1, 0, 1, true}, /* a long time */
		{NOON, NOON - 1, 1, 0, 0, false},   /* the clock was put back a little */
		{NOON, NOON - 60, 1, 0, 0, false},
		{NOON, NOON - 61, 1, 0, 1, true}, /* and more than that */
		{NOON, NOON + 60, 60, 0, 1, false},
		{NOON, NOON + 120, 60, 1, 1,
			false}, /* a missing minute is not filled in */
		{NOON, NOON, 60, 0, 0, false},
		{NOON, NOON - 60, 60, 0, 0, false},
		{NOON, NOON - 120, 60, 0, 1, true},
		{NOON, NOON + 86400, 60, 0, 1, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct clv_history_advance advance =
			clv_history_advance(cases[i].last, cases[i].now, cases[i].step);

		assert_int_equal(advance.n_rows, cases[i].n_rows);
		assert_int_equal(advance.n_missing, cases[i].n_missing);
		assert_int_equal(advance.begins, cases[i].begins);
	}
	assert_int_equal(clv_history_floor(NOON + 59, 60), NOON);
	assert_int_equal(clv_history_floor(-1, 60), -60);
}

static void test_fold(void **state)
{
	struct clv_history_fold fold;
	struct clv_history_row row = {0}, minute;

	clv_history_fold_clear(&fold);
	assert_false(clv_history_fold_is_over(&fold, NOON));
	assert_false(clv_history_fold_get(&fold, &minute));
	for (unsigned int i = 0; i < 4; i++) {
		row.values[CLV_HISTORY_SHARE_USED] = i * 1000;
		row.values[CLV_HISTORY_MEMORY_USED] = i == 1 ? 1000 : 0;
		assert_false(clv_history_fold_is_over(&fold, NOON + 10 * i));
		clv_history_fold_add(&fold, NOON + 10 * i, &row);
	}
	assert_true(clv_history_fold_is_over(&fold, NOON + 60));
	assert_true(clv_history_fold_is_over(&fold, NOON - 1));
	assert_true(clv_history_fold_get(&fold, &minute));
	assert_int_equal(fold.minute, NOON);
	assert_int_equal(minute.values[CLV_HISTORY_SHARE_USED], 1500);
	assert_int_equal(minute.values[CLV_HISTORY_SHARE_USED_MAX], 3000);
	assert_int_equal(minute.values[CLV_HISTORY_MEMORY_USED], 250);
	assert_int_equal(minute.values[CLV_HISTORY_MEMORY_USED_MAX], 1000);
}

/* Blocks. */

static const struct clv_history_key key = {
	.kind = CLV_HISTORY_LEASE, .owner = 7, .name = "l0123456789abcdef"};

struct seen {
	struct clv_history_row rows[CLV_HISTORY_ROWS_MAX];
	bool has_row[CLV_HISTORY_ROWS_MAX];
	uint32_t n;
};

static void see(
	void *userdata, int64_t time, bool has_row, const struct clv_history_row *row)
{
	struct seen *seen = userdata;

	assert_int_equal(time, NOON + seen->n);
	seen->rows[seen->n] = *row;
	seen->has_row[seen->n++] = has_row;
}

/* Three rows, seven times the last, a gap of five, and rows until it is full. */
static uint32_t fill_block(struct clv_history_block *block,
	struct clv_history_writer *writer, uint32_t commit_every)
{
	struct clv_history_row row;
	uint32_t n = 0;

	clv_history_begin(block, writer, &key, CLV_HISTORY_SECOND, 1, NOON);
	do {
		row = row_of(n < 3 ? n : n < 10 ? 2 : n);
		if (n == 10) {
			assert_int_equal(clv_history_skip(block, writer, 5), 0);
			n += 5;
		}
		if (commit_every && n % commit_every == 0)
			clv_history_commit(block, writer);
	} while (clv_history_append(block, writer, &row) >= 0 && ++n);
	clv_history_commit(block, writer);
	return n;
}

static void test_block(void **state)
{
	struct clv_history_block block;
	struct clv_history_writer writer, again;
	static struct seen seen;
	uint32_t n = fill_block(&block, &writer, 0), n_rows;

	seen.n = 0;
	assert_int_equal(clv_history_check(&block, &n_rows), 0);
	assert_int_equal(n_rows, n);
	assert_int_equal(clv_history_read(&block, see, &seen, &again), 0);
	assert_int_equal(seen.n, n);
	assert_true(n > 150); /* of a busy lease: some five bytes a row */
	for (uint32_t i = 0; i < n; i++) {
		struct clv_history_row row = row_of(i < 3 ? i : i < 10 ? 2 : i);

		assert_int_equal(seen.has_row[i], i < 10 || i >= 15);
		if (i < 10 || i > 15)
			assert_memory_equal(&seen.rows[i], &row, sizeof(row));
	}
	assert_memory_equal(&again, &writer,
		offsetof(struct clv_history_writer, turn) + sizeof(writer.turn));
}

static void test_an_idle_series_needs_no_room(void **state)
{
	struct clv_history_block block;
	struct clv_history_writer writer;
	struct clv_history_row row = row_of(0);
	uint32_t n_rows, n = 0;

	clv_history_begin(&block, &writer, &key, CLV_HISTORY_SECOND, 1, NOON);
	while (clv_history_append(&block, &writer, &row) >= 0)
		n++;
	assert_int_equal(n, CLV_HISTORY_ROWS_MAX);
	assert_true(writer.n_used < 32);
	clv_history_commit(&block, &writer);
	assert_int_equal(clv_history_check(&block, &n_rows), 0);
	assert_int_equal(n_rows, n);
	assert_int_equal(clv_history_skip(&block, &writer, 1), -ENOSPC);
}

/* Whichever parts of a write have reached the disk, the rows of the last commit are
 * valid. */
static void test_torn_writes(void **state)
{
	struct clv_history_block before, after, torn;
	struct clv_history_writer writer;
	static struct seen seen;
	uint32_t n_before, n_after;
	unsigned int seed = 1;

	clv_history_begin(&before, &writer, &key, CLV_HISTORY_SECOND, 1, NOON);
	for (uint32_t n = 0; n < 120; n++) {
		struct clv_history_row row = row_of(n);

		assert_int_equal(clv_history_append(&before, &writer, &row), 0);
		if (n % 8 != 7)
			continue;
		clv_history_commit(&before, &writer);
		if (n < 8) {
			after = before;
			continue;
		}
		/* "after" is the last commit now. */
		for (int i = 0; i < 200; i++) {
			for (size_t at = 0; at < sizeof(torn); at += 8)
				memcpy((char *)&torn + at,
					(char *)(rand_r(&seed) % 2 ? &before : &after) +
						at,
					8);
			seen.n = 0;
			assert_int_equal(clv_history_check(&torn, &n_after), 0);
			assert_int_equal(clv_history_check(&after, &n_before), 0);
			assert_int_equal(clv_history_read(&torn, see, &seen, NULL), 0);
			assert_true(seen.n >= n_before);
		}
		after = before;
	}
}

static void test_damage_is_seen(void **state)
{
	struct clv_history_block block, damaged;
	struct clv_history_writer writer;
	unsigned int seed = 2;
	uint32_t n = fill_block(&block, &writer, 5), n_rows;

	for (int i = 0; i < 20000; i++) {
		static struct seen seen;
		size_t at = (size_t)rand_r(&seed) % sizeof(block);

		damaged = block;
		((uint8_t *)&damaged)[at] ^= (uint8_t)(1u << rand_r(&seed) % 8);
		seen.n = 0;
		if (clv_history_check(&damaged, &n_rows) >= 0 &&
			clv_history_read(&damaged, see, &seen, NULL) >= 0) {
			struct clv_history_row row = row_of(0);

			assert_true(seen.n <= n);
			assert_memory_equal(&seen.rows[0], &row, sizeof(row));
		}
	}
}

/* The file. */

struct place {
	char folder[64], path[96], aside[112], name[112];
	struct clv_history_book book;
	struct clv_history_series *owners[64];
};

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	if (!place)
		return -1;
	strcpy(place->folder, "/tmp/clv-history-XXXXXX");
	if (!mkdtemp(place->folder))
		return -1;
	snprintf(place->path, sizeof(place->path), "%s/history", place->folder);
	snprintf(place->aside, sizeof(place->aside), "%s.damaged", place->path);
	clv_history_book_init(&place->book);
	*state = place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;

	clv_history_book_done(&place->book, NOON);
	unlink(place->path);
	unlink(place->aside);
	rmdir(place->folder);
	free(place);
	return 0;
}

static void open_book(struct place *place, uint32_t most_bytes)
{
	struct clv_error err = {0};

	if (clv_history_file_open(place->path, most_bytes, &place->book.file, place->name,
		    sizeof(place->name), &err) < 0)
		fail_msg("%s", err.msg);
}

static void put(struct place *place, unsigned int which, int64_t now, uint64_t n)
{
	struct clv_history_row row = row_of(n);
	struct clv_history_series *series;
	char name[24];

	snprintf(name, sizeof(name), "l%016x", which);
	series = clv_history_series_get(&place->book, &place->owners[which],
		CLV_HISTORY_LEASE, name, 1000 + which);
	assert_non_null(series);
	clv_history_series_put(&place->book, series, now, &row);
	if (now % 8 == which % 8)
		clv_history_series_flush(&place->book, series, now);
}

/* Like kill -9: rows in memory are lost. */
static void kill_book(struct place *place)
{
	place->book.file = clv_history_file_free(place->book.file);
	for (size_t i = 0; i < 64; i++)
		clv_history_series_end(&place->book, place->owners[i], NOON);
	clv_history_book_init(&place->book);
}

static void close_book(struct place *place)
{
	clv_history_book_done(&place->book, NOON);
	clv_history_book_init(&place->book);
}

static size_t read_rows(struct place *place, unsigned int which, uint32_t step,
	int64_t from, size_t n, struct clv_history_row *rows, bool *has_row)
{
	struct clv_history_key wanted = {.kind = CLV_HISTORY_LEASE};
	size_t n_rows = 0;

	snprintf(wanted.name, sizeof(wanted.name), "l%016x", which);
	assert_int_equal(clv_history_get(&place->book, &wanted, step, from, from, n, rows,
				 has_row),
		0);
	for (size_t i = 0; i < n; i++)
		n_rows += has_row[i];
	return n_rows;
}

static void test_file(void **state)
{
	static struct clv_history_row rows[2 * HOUR];
	static bool has_row[2 * HOUR];
	struct place *place = *state;
	struct clv_history_key wanted = {
		.kind = CLV_HISTORY_LEASE, .name = "l0000000000000003"};

	open_book(place, 0);
	for (uint32_t s = 0; s < HOUR; s++)
		put(place, 3, NOON + s, s);
	assert_int_equal(
		read_rows(place, 3, CLV_HISTORY_SECOND, NOON, HOUR, rows, has_row), HOUR);
	for (uint32_t s = 0; s < HOUR; s++)
		assert_int_equal(rows[s].values[CLV_HISTORY_SHARE_USED],
			row_of(s).values[CLV_HISTORY_SHARE_USED]);
	/* The last minute is not over. */
	assert_int_equal(
		read_rows(place, 3, CLV_HISTORY_MINUTE, NOON, 60, rows, has_row), 59);
	assert_int_equal(rows[0].values[CLV_HISTORY_SHARE_USED_MAX], 59 * 7);
	close_book(place);

	/* Another agent, ten minutes later. */
	open_book(place, 0);
	put(place, 3, NOON + HOUR + 600, 1);
	assert_int_equal(
		read_rows(place, 3, CLV_HISTORY_SECOND, NOON, 2 * HOUR, rows, has_row),
		HOUR + 1);
	assert_int_equal(
		read_rows(place, 3, CLV_HISTORY_MINUTE, NOON, 60, rows, has_row), 60);
	assert_true(clv_history_find(&place->book, &wanted));
	assert_int_equal(wanted.owner, 1003);
	wanted.name[5] = 'x';
	assert_false(clv_history_find(&place->book, &wanted));
}

static void test_kill(void **state)
{
	static struct clv_history_row rows[300];
	static bool has_row[300];
	struct place *place = *state;
	int64_t now = NOON;
	size_t n_lost;

	for (int life = 0; life < 20; life++) {
		open_book(place, 0);
		for (int s = 0; s < 13; s++, now++)
			put(place, 0, now, (uint64_t)(now - NOON));
		kill_book(place);
	}
	open_book(place, 0);
	n_lost = 260 - read_rows(place, 0, CLV_HISTORY_SECOND, NOON, 260, rows, has_row);
	assert_true(n_lost <= 20 * 8);
	/* Blocks are resumed, so that frequent starts need no more room. */
	assert_true(clv_history_file_blocks(place->book.file) <= 4);
	put(place, 0, now + 60, 1);
	assert_true(read_rows(place, 0, CLV_HISTORY_MINUTE, NOON, 5, rows, has_row) >= 4);
}

static void test_no_more_than_its_bound(void **state)
{
	static struct clv_history_row rows[HOUR];
	static bool has_row[HOUR];
	struct place *place = *state;
	struct stat st;

	open_book(place, 64 << 10);
	for (uint32_t s = 0; s < 2 * HOUR; s++) {
		for (unsigned int i = 0; i < 8; i++)
			put(place, i, NOON + s, s * (i + 1));
	}
	close_book(place);
	assert_int_equal(stat(place->path, &st), 0);
	assert_true(st.st_size <= 64 << 10);
	open_book(place, 64 << 10);
	for (unsigned int i = 0; i < 8; i++) {
		/* Each series has its last seconds; the oldest are overwritten. */
		assert_true(read_rows(place, i, CLV_HISTORY_SECOND, NOON + 2 * HOUR - 60,
				    60, rows, has_row) == 60);
		assert_true(read_rows(place, i, CLV_HISTORY_SECOND, NOON, HOUR, rows,
				    has_row) < HOUR / 2);
	}
}

static void test_more_series_than_room(void **state)
{
	struct place *place = *state;

	open_book(place, 32 << 10);
	for (uint32_t s = 0; s < 300; s++) {
		for (unsigned int i = 0; i < 64; i++)
			put(place, i, NOON + s, s * (i + 1));
	}
	assert_true(clv_history_file_blocks(place->book.file) <= 31);
	clv_history_end_unseen(&place->book, NOON + 300);
	assert_int_equal(place->book.n_series, 64);
	clv_history_end_unseen(&place->book, NOON + 300);
	assert_int_equal(place->book.n_series, 0);
	for (size_t i = 0; i < 64; i++)
		assert_null(place->owners[i]);
}

static void test_other_files_are_put_aside(void **state)
{
	static const char *const texts[] = {"SQLite format 3", "cleave history\n", "x"};
	struct place *place = *state;
	struct stat st;

	for (size_t i = 0; i < 3; i++) {
		FILE *file = fopen(place->path, "w");

		assert_non_null(file);
		fputs(texts[i], file);
		fclose(file);
		open_book(place, 0);
		assert_string_equal(place->name, place->aside);
		assert_int_equal(stat(place->aside, &st), 0);
		assert_int_equal(st.st_size, strlen(texts[i]));
		put(place, 0, NOON, 1);
		close_book(place);
		open_book(place, 0);
		assert_string_equal(place->name, "");
		close_book(place);
	}
}

static void test_two_agents(void **state)
{
	struct place *place = *state;
	struct clv_history_file *other = NULL;
	struct clv_error err = {0};

	open_book(place, 0);
	assert_int_equal(clv_history_file_open(place->path, 0, &other, place->name,
				 sizeof(place->name), &err),
		-EBUSY);
	assert_null(other);
}

/* With bytes changed and the end cut off anywhere, the remaining rows are right, and the
 * file can be written. */
static void test_damaged_file(void **state)
{
	static struct clv_history_row rows[600];
	static bool has_row[600];
	struct place *place = *state;
	unsigned int seed = 3;
	int fd;

	for (int round = 0; round < 30; round++) {
		unlink(place->path);
		open_book(place, 0);
		for (uint32_t s = 0; s < 600; s++)
			put(place, 0, NOON + s, s);
		close_book(place);
		fd = open(place->path, O_RDWR);
		for (int i = 0; i < 3; i++) {
			uint8_t byte = (uint8_t)rand_r(&seed);
			off_t at = 1024 + rand_r(&seed) % 4096;

			assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		}
		if (round % 2)
			assert_int_equal(ftruncate(fd, 1024 + rand_r(&seed) % 4096), 0);
		close(fd);
		open_book(place, 0);
		read_rows(place, 0, CLV_HISTORY_SECOND, NOON, 600, rows, has_row);
		for (uint32_t s = 0; s < 600; s++) {
			struct clv_history_row row = row_of(s);

			if (has_row[s])
				assert_memory_equal(rows[s].values, row.values,
					_CLV_HISTORY_MEANS * sizeof(uint64_t));
		}
		put(place, 0, NOON + 700, 1);
		close_book(place);
	}
}

/* A limit on the size of files stands in for a full disk. */
static void test_full_disk(void **state)
{
	static struct clv_history_row rows[300];
	static bool has_row[300];
	struct place *place = *state;
	struct rlimit before, small = {3 << 10, RLIM_INFINITY};

	open_book(place, 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (uint32_t s = 0; s < 20; s++) {
		for (unsigned int i = 0; i < 4; i++)
			put(place, i, NOON + s, s);
	}
	setrlimit(RLIMIT_FSIZE, &before);
	assert_true(place->book.n_failed > 0 && place->book.problem < 0);
	/* Rows that could not be written are still known, and written later. */
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(
			read_rows(place, i, CLV_HISTORY_SECOND, NOON, 20, rows, has_row),
			20);
	assert_int_equal(place->book.problem, 0);
	kill_book(place);
	open_book(place, 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(
			read_rows(place, i, CLV_HISTORY_SECOND, NOON, 20, rows, has_row),
			20);
}

static void test_without_a_file(void **state)
{
	static struct clv_history_row rows[60];
	static bool has_row[60];
	struct place *place = *state;

	for (uint32_t s = 0; s < 30; s++)
		put(place, 0, NOON + s, s);
	assert_int_equal(
		read_rows(place, 0, CLV_HISTORY_SECOND, NOON, 60, rows, has_row), 30);
	open_book(place, 0);
	for (uint32_t s = 30; s < 60; s++)
		put(place, 0, NOON + s, s);
	kill_book(place);
	open_book(place, 0);
	assert_true(
		read_rows(place, 0, CLV_HISTORY_SECOND, NOON, 60, rows, has_row) > 50);
}

/* The clock goes back an hour: rows that are written then are used. */
static void test_clock_goes_back(void **state)
{
	static struct clv_history_row rows[300];
	static bool has_row[300];
	struct place *place = *state;

	open_book(place, 0);
	for (uint32_t s = 0; s < 300; s++)
		put(place, 0, NOON + s, 1);
	for (uint32_t s = 0; s < 120; s++)
		put(place, 0, NOON + s, 2);
	assert_int_equal(
		read_rows(place, 0, CLV_HISTORY_SECOND, NOON, 300, rows, has_row), 300);
	assert_int_equal(rows[100].values[CLV_HISTORY_SHARE_USED], 14);
	assert_int_equal(rows[200].values[CLV_HISTORY_SHARE_USED], 7);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checksum),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_advance),
		cmocka_unit_test(test_fold),
		cmocka_unit_test(test_block),
		cmocka_unit_test(test_an_idle_series_needs_no_room),
		cmocka_unit_test(test_torn_writes),
		cmocka_unit_test(test_damage_is_seen),
		IN_PLACE(test_file),
		IN_PLACE(test_kill),
		IN_PLACE(test_no_more_than_its_bound),
		IN_PLACE(test_more_series_than_room),
		IN_PLACE(test_other_files_are_put_aside),
		IN_PLACE(test_two_agents),
		IN_PLACE(test_damaged_file),
		IN_PLACE(test_full_disk),
		IN_PLACE(test_without_a_file),
		IN_PLACE(test_clock_goes_back),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
