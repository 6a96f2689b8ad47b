/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite for tests that open the state file in each of many worlds.  All opens get one
 * database in memory, which is emptied at each, and its prepared statements are kept:
 * to create the tables and to compile the statements takes most of the time of a world
 * otherwise.  Only the commits matter in such a test, and not the disk. */
#include <sqlite3.h>

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define STATEMENTS_MAX 128
#define TABLES_MAX 32

struct statement {
	sqlite3_stmt *compiled;
	bool is_used;
};

static struct statement statements[STATEMENTS_MAX];
static size_t n_statements;
static sqlite3_stmt *deletions[TABLES_MAX]; /* of the rows of each table */
static size_t n_deletions;
static sqlite3 *database;

/* Names as the linker's --wrap has them. */
extern int __wrap_sqlite3_open_v2(const char *, sqlite3 **, int, const char *);
extern int __real_sqlite3_open_v2(const char *, sqlite3 **, int, const char *);
extern int __wrap_sqlite3_close(sqlite3 *);
extern int __wrap_sqlite3_prepare_v2(
	sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
extern int __wrap_sqlite3_prepare_v3(
	sqlite3 *, const char *, int, unsigned int, sqlite3_stmt **, const char **);
extern int __real_sqlite3_prepare_v3(
	sqlite3 *, const char *, int, unsigned int, sqlite3_stmt **, const char **);
extern int __wrap_sqlite3_finalize(sqlite3_stmt *);
extern int __real_sqlite3_finalize(sqlite3_stmt *);

static sqlite3_stmt *compile(const char *sql)
{
	sqlite3_stmt *compiled;
	int r = __real_sqlite3_prepare_v3(
		database, sql, -1, SQLITE_PREPARE_PERSISTENT, &compiled, NULL);

	assert(r == SQLITE_OK);
	(void)r;
	return compiled;
}

/* The first database that was opened has its tables by the time of the second open. */
static void compile_deletions(void)
{
	sqlite3_stmt *names = compile("SELECT 'DELETE FROM \"'||name||'\"' FROM "
				      "sqlite_schema WHERE type='table'");

	while (sqlite3_step(names) == SQLITE_ROW) {
		assert(n_deletions < TABLES_MAX);
		deletions[n_deletions++] =
			compile((const char *)sqlite3_column_text(names, 0));
	}
	__real_sqlite3_finalize(names);
}

int __wrap_sqlite3_open_v2(const char *path, sqlite3 **ret, int flags, const char *vfs)
{
	(void)path;
	if (!database) {
		int r = __real_sqlite3_open_v2(":memory:", &database, flags, vfs);

		*ret = database;
		return r;
	}
	if (n_deletions == 0)
		compile_deletions();
	for (size_t i = 0; i < n_deletions; i++) {
		sqlite3_step(deletions[i]);
		sqlite3_reset(deletions[i]);
	}
	*ret = database;
	return SQLITE_OK;
}

int __wrap_sqlite3_close(sqlite3 *db)
{
	assert(db == NULL || db == database);
	return db && !sqlite3_get_autocommit(db)
		       ? sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL)
		       : SQLITE_OK;
}

int __wrap_sqlite3_prepare_v3(sqlite3 *db, const char *sql, int n_bytes,
	unsigned int flags, sqlite3_stmt **ret, const char **tail)
{
	struct statement *statement;
	int r;

	for (size_t i = 0; i < n_statements; i++) {
		statement = &statements[i];
		if (!statement->is_used &&
			strcmp(sqlite3_sql(statement->compiled), sql) == 0) {
			statement->is_used = true;
			*ret = statement->compiled;
			return SQLITE_OK;
		}
	}
	r = __real_sqlite3_prepare_v3(db, sql, n_bytes, flags, ret, tail);
	if (r != SQLITE_OK || *ret == NULL)
		return r;
	assert(n_statements < STATEMENTS_MAX);
	statements[n_statements++] = (struct statement){*ret, true};
	return r;
}

int __wrap_sqlite3_prepare_v2(
	sqlite3 *db, const char *sql, int n_bytes, sqlite3_stmt **ret, const char **tail)
{
	return __wrap_sqlite3_prepare_v3(db, sql, n_bytes, 0, ret, tail);
}

int __wrap_sqlite3_finalize(sqlite3_stmt *compiled)
{
	for (size_t i = 0; i < n_statements; i++) {
		if (statements[i].compiled != compiled)
			continue;
		sqlite3_reset(compiled);
		sqlite3_clear_bindings(compiled);
		statements[i].is_used = false;
		return SQLITE_OK;
	}
	return __real_sqlite3_finalize(compiled);
}
