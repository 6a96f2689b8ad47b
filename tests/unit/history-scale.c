/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of the history for a number of series with one row a second each, in a file
 * like the agent's. Prints the time for a second's rows in per cent of a core, for
 * constant series and for series of which every row differs.
 *
 * usage: history-scale FOLDER [SERIES...] */
#include "agent/history/history-series.h"
#include "base/clock.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECONDS 300
#define FLUSH_EVERY 8u
#define BEGAN INT64_C(1800000000)

static struct clv_history_row row_of(uint64_t n)
{
	return (struct clv_history_row){
		.values = {
			[CLV_HISTORY_SHARE_USED] = n * 37 % 200 + 4900,
			[CLV_HISTORY_SHARE_PROMISED] = 500000,
			[CLV_HISTORY_MEMORY_USED] = n / 30 << 20,
			[CLV_HISTORY_MEMORY_QUOTA] = UINT64_C(80) << 30,
			[CLV_HISTORY_WAITING] = n * 53 % 100,
		}};
}

static uint64_t put_second(struct clv_history_book *book,
	struct clv_history_series **owners, uint32_t n, int64_t now, bool is_busy)
{
	uint64_t began_ns = clv_clock_ns();

	for (uint32_t i = 0; i < n; i++) {
		struct clv_history_row row = row_of(is_busy ? (uint64_t)now + i : i);
		struct clv_history_series *series;
		char name[24];

		if (!owners[i])
			snprintf(name, sizeof(name), "l%016x", i);
		series = clv_history_series_get(
			book, &owners[i], CLV_HISTORY_LEASE, name, 0);
		if (!series)
			exit(1);
		clv_history_series_put(book, series, now, &row);
		if (series->number % FLUSH_EVERY == now % FLUSH_EVERY)
			clv_history_series_flush(book, series, now);
	}
	return clv_clock_ns() - began_ns;
}

static void measure(const char *path, uint32_t n, bool is_busy)
{
	struct clv_history_series **owners =
		calloc(n, sizeof(struct clv_history_series *));
	struct clv_history_book book;
	struct clv_error err = {0};
	uint64_t sum_ns = 0, most_ns = 0;
	char aside[256];
	struct stat st;

	unlink(path);
	clv_history_book_init(&book);
	if (!owners || clv_history_file_open(
			       path, 0, &book.file, aside, sizeof(aside), &err) < 0) {
		fprintf(stderr, "history-scale: %s\n", err.msg);
		exit(1);
	}
	for (int s = 0; s < SECONDS; s++) {
		uint64_t took_ns = put_second(&book, owners, n, BEGAN + s, is_busy);

		sum_ns += took_ns;
		most_ns = took_ns > most_ns ? took_ns : most_ns;
	}
	clv_history_book_done(&book, BEGAN + SECONDS);
	if (stat(path, &st) < 0)
		exit(1);
	printf("%6u series, %s: %.4f %% of a core, %.2f ms at most, file %.1f MiB\n", n,
		is_busy ? "busy" : "idle",
		100.0 * (double)sum_ns / SECONDS / (double)CLV_NS_PER_S,
		(double)most_ns / (double)CLV_NS_PER_MS,
		(double)st.st_blocks * 512 / (1 << 20));
	unlink(path);
	free(owners);
}

int main(int argc, char **argv)
{
	static const char *usual[] = {"13", "100", "1000", "10200"};
	const char *const *counts = argc > 2 ? (const char *const *)argv + 2 : usual;
	int n = argc > 2 ? argc - 2 : 4;
	char path[256];

	if (argc < 2)
		return 64;
	snprintf(path, sizeof(path), "%s/history-scale", argv[1]);
	for (int i = 0; i < n; i++) {
		measure(path, (uint32_t)atoi(counts[i]), false);
		measure(path, (uint32_t)atoi(counts[i]), true);
	}
	return 0;
}
