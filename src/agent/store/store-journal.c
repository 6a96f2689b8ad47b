/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of operations, the applied layout, the partitions created for leases, and
 * standing shares.  They are written rarely, so their statements are prepared at each
 * use. */
#include "agent/record/standing-fields.h"
#include "agent/record/standing-record.h"
#include "agent/store/store-fields.h"
#include "agent/store/store-internal.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNFINISHED "('surveying','waiting','running','rolling_back')"

int clv_store_put_journal(
	struct clv_store *store, const struct clv_journal *journal, struct clv_error *err)
{
	static const char doing[] = "cannot write the journal";
	sqlite3_stmt *query;
	int r = clv_store_prepare(store,
		"INSERT INTO journal(id,what,state,error,uid,started_ns,step,n_steps,"
		"target,before,keeps_layout,for_lease,written,request) VALUES(?1,?2,?3,"
		"?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14) ON CONFLICT(id) DO UPDATE SET "
		"state=?3,error=?4,step=?7,n_steps=?8,target=?9,before=?10",
		doing, &query, err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, journal->id);
	clv_store_bind_text(query, 2, journal->what);
	clv_store_bind_text(query, 3, journal->state);
	clv_store_bind_text(query, 4, journal->error);
	sqlite3_bind_int64(query, 5, journal->uid);
	sqlite3_bind_int64(query, 6, (sqlite3_int64)journal->started_real_ns);
	sqlite3_bind_int64(query, 7, journal->step);
	sqlite3_bind_int64(query, 8, journal->n_steps);
	clv_store_bind_text(query, 9, journal->target);
	clv_store_bind_text(query, 10, journal->before);
	sqlite3_bind_int(query, 11, journal->keeps_layout);
	sqlite3_bind_int(query, 12, journal->is_for_lease);
	clv_store_bind_text(query, 13, journal->written);
	clv_store_bind_text(query, 14, journal->request);
	return clv_store_finish(store, query, doing, err);
}

static int set_json(struct clv_store *store, const char *id, const char *json,
	const char *doing, struct clv_error *err)
{
	sqlite3_stmt *query;
	int r = clv_store_prepare(
		store, "UPDATE journal SET json=?2 WHERE id=?1", doing, &query, err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, id);
	clv_store_bind_text(query, 2, json);
	return clv_store_finish(store, query, doing, err);
}

int clv_store_end_journal(struct clv_store *store, const char *id, const char *json,
	uint32_t keep, struct clv_error *err)
{
	static const char doing[] = "cannot write the journal";
	sqlite3_stmt *query;
	int r = set_json(store, id, json, doing, err);

	if (r >= 0)
		r = clv_store_prepare(store,
			"DELETE FROM journal WHERE state NOT IN " UNFINISHED
			" AND id NOT IN (SELECT id FROM journal ORDER BY started_ns DESC "
			"LIMIT ?1)",
			doing, &query, err);
	if (r < 0)
		return r;
	sqlite3_bind_int64(query, 1, keep);
	return clv_store_finish(store, query, doing, err);
}

int clv_store_read_ended(struct clv_store *store, clv_store_text_fn callback,
	void *userdata, struct clv_error *err)
{
	static const char doing[] = "cannot read the journal";
	sqlite3_stmt *query;
	int step = SQLITE_DONE;
	int r = clv_store_prepare(store,
		"SELECT json FROM journal WHERE json<>'' ORDER BY started_ns", doing,
		&query, err);

	if (r < 0)
		return r;
	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW)
		r = callback(userdata, clv_store_text(query, 0));
	return clv_store_finish_rows(store, query, step, r, doing, err);
}

static void read_journal(sqlite3_stmt *row, struct clv_journal *ret)
{
	*ret = (struct clv_journal){
		.uid = (uid_t)sqlite3_column_int64(row, 4),
		.started_real_ns = (uint64_t)sqlite3_column_int64(row, 5),
		.step = (uint32_t)sqlite3_column_int64(row, 6),
		.n_steps = (uint32_t)sqlite3_column_int64(row, 7),
		.target = clv_store_text(row, 8),
		.before = clv_store_text(row, 9),
		.keeps_layout = sqlite3_column_int(row, 10) != 0,
		.is_for_lease = sqlite3_column_int(row, 11) != 0,
		.written = clv_store_text(row, 12),
		.request = clv_store_text(row, 13),
	};
	snprintf(ret->id, sizeof(ret->id), "%s", clv_store_text(row, 0));
	snprintf(ret->what, sizeof(ret->what), "%s", clv_store_text(row, 1));
	snprintf(ret->state, sizeof(ret->state), "%s", clv_store_text(row, 2));
	snprintf(ret->error, sizeof(ret->error), "%s", clv_store_text(row, 3));
}

int clv_store_read_journal(struct clv_store *store, clv_store_journal_fn callback,
	void *userdata, struct clv_error *err)
{
	static const char doing[] = "cannot read the journal";
	sqlite3_stmt *query;
	int step = SQLITE_DONE;
	/* An id that no agent has written could not be found again to end its row. */
	int r = clv_store_prepare(store,
		"SELECT id,what,state,error,uid,started_ns,step,n_steps,target,before,"
		"keeps_layout,for_lease,written,request FROM journal WHERE state "
		"IN " UNFINISHED " AND typeof(id)='text' AND length(CAST(id AS BLOB))<24 "
		"ORDER BY started_ns",
		doing, &query, err);

	if (r < 0)
		return r;
	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW) {
		struct clv_journal journal;

		read_journal(query, &journal);
		r = callback(userdata, &journal);
	}
	return clv_store_finish_rows(store, query, step, r, doing, err);
}

int clv_store_put_layout(struct clv_store *store, const char *text, const char *resolved,
	struct clv_error *err)
{
	static const char doing[] = "cannot store the layout";
	sqlite3_stmt *query;
	int r = clv_store_prepare(store,
		text[0] ? "INSERT OR REPLACE INTO layout(id,text,resolved) "
			  "VALUES(1,?1,?2)"
			: "DELETE FROM layout WHERE ?1='' AND ?2=?2",
		doing, &query, err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, text);
	clv_store_bind_text(query, 2, resolved);
	return clv_store_finish(store, query, doing, err);
}

static int read_layout(sqlite3_stmt *row, char **ret_text, char **ret_resolved)
{
	char *text = strdup(clv_store_text(row, 0));
	char *resolved = ret_resolved ? strdup(clv_store_text(row, 1)) : NULL;

	if (!text || (ret_resolved && !resolved)) {
		free(text);
		free(resolved);
		return -ENOMEM;
	}
	*ret_text = text;
	if (ret_resolved)
		*ret_resolved = resolved;
	return 0;
}

int clv_store_get_layout(struct clv_store *store, char **ret_text, char **ret_resolved,
	struct clv_error *err)
{
	static const char doing[] = "cannot read the layout";
	sqlite3_stmt *query;
	int r = clv_store_prepare(
		store, "SELECT text,resolved FROM layout", doing, &query, err);

	if (r < 0)
		return r;
	r = sqlite3_step(query);
	if (r == SQLITE_ROW) {
		r = read_layout(query, ret_text, ret_resolved);
		if (r < 0)
			clv_error_errno(err, -r, doing);
	} else if (r == SQLITE_DONE) {
		r = clv_error_set(err, -ENOENT,
			"no layout has been applied: cleave apply FILE applies one");
	} else {
		r = clv_store_error(err, store->db, r, doing);
	}
	sqlite3_finalize(query);
	return r;
}

int clv_store_put_ephemeral(
	struct clv_store *store, const char *name, bool turned_on, struct clv_error *err)
{
	static const char doing[] = "cannot store the name of a partition";
	sqlite3_stmt *query;
	int r = clv_store_prepare(store,
		"INSERT OR REPLACE INTO made(name,turned_on) VALUES(?1,?2)", doing,
		&query, err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, name);
	sqlite3_bind_int(query, 2, turned_on);
	return clv_store_finish(store, query, doing, err);
}

int clv_store_delete_ephemeral(
	struct clv_store *store, const char *name, struct clv_error *err)
{
	static const char doing[] = "cannot delete the name of a partition";
	sqlite3_stmt *query;
	int r = clv_store_prepare(
		store, "DELETE FROM made WHERE name=?1", doing, &query, err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, name);
	return clv_store_finish(store, query, doing, err);
}

int clv_store_read_ephemeral(struct clv_store *store, clv_store_ephemeral_fn callback,
	void *userdata, struct clv_error *err)
{
	static const char doing[] = "cannot read the partitions of leases";
	sqlite3_stmt *query;
	int step = SQLITE_DONE;
	int r = clv_store_prepare(
		store, "SELECT name,turned_on FROM made", doing, &query, err);

	if (r < 0)
		return r;
	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW)
		r = callback(userdata, clv_store_text(query, 0),
			sqlite3_column_int(query, 1) != 0);
	return clv_store_finish_rows(store, query, step, r, doing, err);
}

int clv_store_clear_standing(struct clv_store *store, struct clv_error *err)
{
	static const char doing[] = "cannot rewrite the standing shares";
	sqlite3_stmt *query;
	int r = clv_store_prepare(store, "DELETE FROM standing", doing, &query, err);

	return r < 0 ? r : clv_store_finish(store, query, doing, err);
}

int clv_store_put_standing(struct clv_store *store,
	const struct clv_standing_share *share, struct clv_error *err)
{
	static const char doing[] = "cannot store a standing share";
	sqlite3_stmt *query;
	int r = clv_store_prepare_owned(store,
		clv_store_fields_put("standing", &clv_standing_fields), doing, &query,
		err);

	if (r < 0)
		return r;
	clv_store_fields_bind(query, &clv_standing_fields, share);
	return clv_store_finish(store, query, doing, err);
}

int clv_store_read_standing(struct clv_store *store, clv_store_standing_fn callback,
	void *userdata, struct clv_error *err)
{
	static const char doing[] = "cannot read the standing shares";
	sqlite3_stmt *query;
	int r = clv_store_prepare_owned(store,
		clv_store_fields_read("standing", &clv_standing_fields, "ORDER BY rowid"),
		doing, &query, err);
	int step = SQLITE_DONE;

	if (r < 0)
		return r;
	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW) {
		struct clv_standing_share share = {0};

		clv_store_fields_get(query, &clv_standing_fields, &share);
		r = callback(userdata, &share);
	}
	return clv_store_finish_rows(store, query, step, r, doing, err);
}
