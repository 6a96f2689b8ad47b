/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of operations and the layout that is wanted.  They are written seldom, so
 * their statements are prepared as they are needed. */
#include "agent/store-internal.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int prepare(struct clv_store *store, const char *sql, const char *doing,
	sqlite3_stmt **ret, struct clv_error *err)
{
	int r;

	clv_store_set_relaxed(store, false);
	r = sqlite3_prepare_v2(store->db, sql, -1, ret, NULL);
	return r == SQLITE_OK ? 0 : clv_store_error(err, store->db, r, doing);
}

/* Of a statement without rows. */
static int finish(struct clv_store *store, sqlite3_stmt *query, const char *doing,
	struct clv_error *err)
{
	int r = sqlite3_step(query);

	sqlite3_finalize(query);
	return r == SQLITE_DONE ? 0 : clv_store_error(err, store->db, r, doing);
}

static void bind_text(sqlite3_stmt *query, int at, const char *text)
{
	sqlite3_bind_text(query, at, text ? text : "", -1, SQLITE_STATIC);
}

static const char *get_text(sqlite3_stmt *query, int at)
{
	const unsigned char *text = sqlite3_column_text(query, at);

	return text ? (const char *)text : "";
}

/* There is one operation at a time: another one that seems unfinished is one whose end
 * could not be written, and must not be gone on with after this one. */
static int end_others(
	struct clv_store *store, const char *id, const char *doing, struct clv_error *err)
{
	sqlite3_stmt *query;
	int r = prepare(store,
		"UPDATE journal SET state='failed' WHERE id<>?1 AND state IN "
		"('running','rolling_back')",
		doing, &query, err);

	if (r < 0)
		return r;
	bind_text(query, 1, id);
	return finish(store, query, doing, err);
}

/* One row for all operations that have ended would do; the last is kept, to be shown. */
int clv_store_put_journal(
	struct clv_store *store, const struct clv_journal *journal, struct clv_error *err)
{
	static const char doing[] = "cannot write the journal";
	sqlite3_stmt *query;
	int r = prepare(store,
		"INSERT INTO journal VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11) ON "
		"CONFLICT(id) "
		"DO UPDATE SET state=?3,error=?4,step=?7,n_steps=?8",
		doing, &query, err);

	if (r < 0)
		return r;
	bind_text(query, 1, journal->id);
	bind_text(query, 2, journal->what);
	bind_text(query, 3, journal->state);
	bind_text(query, 4, journal->error);
	sqlite3_bind_int64(query, 5, journal->uid);
	sqlite3_bind_int64(query, 6, (sqlite3_int64)journal->started_real_ns);
	sqlite3_bind_int64(query, 7, journal->step);
	sqlite3_bind_int64(query, 8, journal->n_steps);
	bind_text(query, 9, journal->target);
	bind_text(query, 10, journal->before);
	sqlite3_bind_int(query, 11, journal->keeps_layout);
	r = finish(store, query, doing, err);
	return r < 0 ? r : end_others(store, journal->id, doing, err);
}

static void read_journal(sqlite3_stmt *row, struct clv_journal *ret)
{
	*ret = (struct clv_journal){
		.uid = (uid_t)sqlite3_column_int64(row, 4),
		.started_real_ns = (uint64_t)sqlite3_column_int64(row, 5),
		.step = (uint32_t)sqlite3_column_int64(row, 6),
		.n_steps = (uint32_t)sqlite3_column_int64(row, 7),
		.target = strdup(get_text(row, 8)),
		.before = strdup(get_text(row, 9)),
		.keeps_layout = sqlite3_column_int(row, 10) != 0,
	};
	snprintf(ret->id, sizeof(ret->id), "%s", get_text(row, 0));
	snprintf(ret->what, sizeof(ret->what), "%s", get_text(row, 1));
	snprintf(ret->state, sizeof(ret->state), "%s", get_text(row, 2));
	snprintf(ret->error, sizeof(ret->error), "%s", get_text(row, 3));
}

int clv_store_get_journal(
	struct clv_store *store, struct clv_journal *ret, struct clv_error *err)
{
	static const char doing[] = "cannot read the journal";
	sqlite3_stmt *query;
	int r = prepare(store,
		"SELECT * FROM journal WHERE state IN ('running','rolling_back') "
		"ORDER BY started_ns DESC LIMIT 1",
		doing, &query, err);

	if (r < 0)
		return r;
	r = sqlite3_step(query);
	if (r == SQLITE_ROW) {
		read_journal(query, ret);
		r = ret->target && ret->before ? 0 : clv_error_errno(err, ENOMEM, doing);
	} else if (r == SQLITE_DONE) {
		r = clv_error_set(err, -ENOENT, "no operation is unfinished");
	} else {
		r = clv_store_error(err, store->db, r, doing);
	}
	sqlite3_finalize(query);
	return r;
}

int clv_store_put_layout(
	struct clv_store *store, const char *layout, struct clv_error *err)
{
	static const char doing[] = "cannot store the layout";
	sqlite3_stmt *query;
	int r = prepare(store,
		layout[0] ? "INSERT OR REPLACE INTO layout VALUES(1,?1)"
			  : "DELETE FROM layout WHERE ?1=''",
		doing, &query, err);

	if (r < 0)
		return r;
	bind_text(query, 1, layout);
	return finish(store, query, doing, err);
}

int clv_store_get_layout(struct clv_store *store, char **ret, struct clv_error *err)
{
	static const char doing[] = "cannot read the layout";
	sqlite3_stmt *query;
	int r = prepare(store, "SELECT text FROM layout", doing, &query, err);

	if (r < 0)
		return r;
	r = sqlite3_step(query);
	if (r == SQLITE_ROW) {
		*ret = strdup(get_text(query, 0));
		r = *ret ? 0 : clv_error_errno(err, ENOMEM, doing);
	} else if (r == SQLITE_DONE) {
		r = clv_error_set(err, -ENOENT, "no layout has been applied");
	} else {
		r = clv_store_error(err, store->db, r, doing);
	}
	sqlite3_finalize(query);
	return r;
}
