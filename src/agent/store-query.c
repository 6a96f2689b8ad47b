/* SPDX-License-Identifier: Apache-2.0 */
/* Statements that are run seldom: prepared, run and ended each time. */
#include "agent/store-internal.h"

int clv_store_prepare(struct clv_store *store, const char *sql, const char *doing,
	sqlite3_stmt **ret, struct clv_error *err)
{
	int r;

	clv_store_set_relaxed(store, false);
	r = sqlite3_prepare_v2(store->db, sql, -1, ret, NULL);
	return r == SQLITE_OK ? 0 : clv_store_error(err, store->db, r, doing);
}

int clv_store_finish(struct clv_store *store, sqlite3_stmt *query, const char *doing,
	struct clv_error *err)
{
	int r = sqlite3_step(query);

	sqlite3_finalize(query);
	return r == SQLITE_DONE ? 0 : clv_store_error(err, store->db, r, doing);
}

int clv_store_end(struct clv_store *store, sqlite3_stmt *query, int step, int r,
	const char *doing, struct clv_error *err)
{
	if (r >= 0 && step != SQLITE_DONE && step != SQLITE_ROW)
		r = clv_store_error(err, store->db, step, doing);
	sqlite3_finalize(query);
	return r;
}

void clv_store_bind_text(sqlite3_stmt *query, int at, const char *text)
{
	sqlite3_bind_text(query, at, text ? text : "", -1, SQLITE_STATIC);
}

const char *clv_store_text(sqlite3_stmt *row, int at)
{
	const unsigned char *text = sqlite3_column_text(row, at);

	return text ? (const char *)text : "";
}
