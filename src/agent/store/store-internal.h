/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/store/store.h"

#include <sqlite3.h>

/* What the files of the store share. */

enum statement {
	PUT_LEASE,
	DELETE_LEASE,
	CLEAR_LEASES,
	READ_LEASES,
	PUT_PROCESS,
	DELETE_PROCESS,
	READ_PROCESSES,
	READ_ATTACHED,
	PUT_HOLDER,
	DELETE_HOLDER,
	READ_HOLDERS,
	PUT_LEASE_DEVICE,
	READ_LEASE_DEVICES,
	PUT_DEVICE,
	GET_DEVICE,
	ADD_EVENT,
	DROP_EVENTS,
	DROP_EVENTS_OF_ONE,
	COUNT_EVENTS,
	READ_EVENTS,
	LAST_EVENT,
	_STATEMENT_MAX,
};

struct clv_store_log;

/* It locks every other process out and keeps the index of the log in memory, and lets
 * this process have several connections. */
#define CLV_STORE_VFS "unix-excl"

struct clv_store {
	sqlite3 *db;
	struct clv_store_log *log; /* NULL: it was never long */
	sqlite3_stmt *prepared[_STATEMENT_MAX];
	uint64_t n_events; /* 0: not counted yet */
	bool is_relaxed;   /* synchronous=NORMAL at present */
	bool in_transaction;
};

/* Stores and returns -ENOSPC, -EBUSY or -EIO.  db may be NULL. */
int clv_store_error(struct clv_error *err, sqlite3 *db, int code, const char *doing);

/* Makes this version of the tables of the one before it, in a transaction. */
int clv_store_upgrade(struct clv_store *store, int version, struct clv_error *err);

/* What need not survive the machine is not waited for.  SQLite takes this setting only
 * between transactions. */
void clv_store_set_relaxed(struct clv_store *store, bool relaxed);

/* From now on the log is copied into the file as it gets long. */
void clv_store_log_watch(struct clv_store *store);
/* Before the store's connection is closed. */
struct clv_store_log *clv_store_log_free(struct clv_store_log *log);

/* Statements that are run seldom.  prepare: 0 with *ret; finish: runs one without rows,
 * and ends it; end: after the last row, or a callback's r < 0. */
int clv_store_prepare(struct clv_store *store, const char *sql, const char *doing,
	sqlite3_stmt **ret, struct clv_error *err);
/* The same of a text that is freed; NULL: there was no memory for it. */
int clv_store_prepare_made(struct clv_store *store, char *sql, const char *doing,
	sqlite3_stmt **ret, struct clv_error *err);
int clv_store_finish(struct clv_store *store, sqlite3_stmt *query, const char *doing,
	struct clv_error *err);
int clv_store_end(struct clv_store *store, sqlite3_stmt *query, int step, int r,
	const char *doing, struct clv_error *err);
/* NULL is "" in the state. */
void clv_store_bind_text(sqlite3_stmt *query, int at, const char *text);
const char *clv_store_text(sqlite3_stmt *row, int at);
