/* SPDX-License-Identifier: Apache-2.0 */
/* Statements that are prepared at each use; copies of the state file, and their check. */
#include "agent/store/store-internal.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int clv_store_prepare(struct clv_store *store, const char *sql, const char *doing,
	sqlite3_stmt **ret, struct clv_error *err)
{
	int r;

	clv_store_set_relaxed(store, false);
	r = sqlite3_prepare_v2(store->db, sql, -1, ret, NULL);
	return r == SQLITE_OK ? 0 : clv_store_error(err, store->db, r, doing);
}

ino_t clv_store_log_inode(const struct clv_store *store)
{
	struct stat st;
	const char *path = sqlite3_db_filename(store->db, "main");

	path = path && path[0] ? sqlite3_filename_wal(path) : NULL;
	return path && stat(path, &st) == 0 ? st.st_ino : 0;
}

int clv_store_check_place(const struct clv_store *store, struct clv_error *err)
{
	int has_moved = 0;

	sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
	if (!has_moved && clv_store_log_inode(store) == store->log_inode)
		return 0;
	return clv_error_set(err, -EIO,
		"%.110s, or its -wal, was removed or replaced: put it back, or run "
		"cleave "
		"backup, stop the agent, and run cleave restore with that copy",
		sqlite3_db_filename(store->db, "main"));
}

int clv_store_prepare_owned(struct clv_store *store, char *sql, const char *doing,
	sqlite3_stmt **ret, struct clv_error *err)
{
	int r = sql ? clv_store_prepare(store, sql, doing, ret, err)
		    : clv_error_errno(err, ENOMEM, "%s", doing);

	free(sql);
	return r;
}

int clv_store_finish(struct clv_store *store, sqlite3_stmt *query, const char *doing,
	struct clv_error *err)
{
	bool is_lost = !store->in_transaction && !store->is_relaxed &&
		       clv_store_check_place(store, err) < 0;
	int r = is_lost ? SQLITE_DONE : sqlite3_step(query);

	sqlite3_finalize(query);
	if (is_lost)
		return -EIO;
	return r == SQLITE_DONE ? 0 : clv_store_error(err, store->db, r, doing);
}

int clv_store_finish_rows(struct clv_store *store, sqlite3_stmt *query, int step, int r,
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

static int copy_into(sqlite3 *db, const char *path, struct clv_error *err)
{
	static const char doing[] = "cannot copy the state";
	sqlite3_stmt *query = NULL;
	int r = sqlite3_prepare_v2(db, "VACUUM INTO ?1", -1, &query, NULL);

	if (r == SQLITE_OK) {
		clv_store_bind_text(query, 1, path);
		r = sqlite3_step(query);
	}
	sqlite3_finalize(query);
	if (r == SQLITE_DONE && chmod(path, 0600) == 0)
		return 0;
	return clv_store_error(err, db, r, doing);
}

int clv_store_copy(struct clv_store *store, const char *path, struct clv_error *err)
{
	return copy_into(store->db, path, err);
}

/* Runs a query and returns the first value of its first row; "": there is none. */
static void query_value(sqlite3 *db, const char *sql, char *ret, size_t ret_bytes)
{
	sqlite3_stmt *query = NULL;

	ret[0] = '\0';
	if (sqlite3_prepare_v2(db, sql, -1, &query, NULL) == SQLITE_OK &&
		sqlite3_step(query) == SQLITE_ROW)
		snprintf(ret, ret_bytes, "%s", clv_store_text(query, 0));
	sqlite3_finalize(query);
}

static int check(sqlite3 *db, const char *path, struct clv_error *err)
{
	char sound[64], version[16], tables[16];
	long number;

	query_value(db, "PRAGMA integrity_check(1)", sound, sizeof(sound));
	query_value(db, "PRAGMA user_version", version, sizeof(version));
	query_value(db,
		"SELECT count(*) FROM sqlite_master WHERE name IN ('leases','events')",
		tables, sizeof(tables));
	number = strtol(version, NULL, 10);
	if (strcmp(sound, "ok") != 0 || strcmp(tables, "2") != 0 || number < 1)
		return clv_error_set(err, -EBADMSG,
			"%s is not a backup of an agent's state, or is damaged", path);
	if (number > clv_store_version())
		return clv_error_set(err, -EBADMSG,
			"%s was written by a later cleave (schema %ld, this one knows "
			"%d): update cleave first",
			path, number, clv_store_version());
	return 0;
}

int clv_store_check_copy(const char *from, const char *to, struct clv_error *err)
{
	sqlite3 *db = NULL;
	int r = access(from, R_OK) < 0
			? clv_error_errno(err, errno, "cannot read %s", from)
			: 0;

	if (r < 0)
		return r;
	if (sqlite3_open_v2(from, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		r = clv_store_error(err, db, SQLITE_CANTOPEN, "cannot open the backup");
	if (r >= 0)
		r = check(db, from, err);
	unlink(to);
	if (r >= 0)
		r = copy_into(db, to, err);
	sqlite3_close(db);
	return r;
}
