/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/store/store.h"

#include <sqlite3.h>
#include <sys/types.h>

/* Shared by the files of the store. */

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

/* SQLite's VFS that excludes other processes, keeps the index of the write-ahead log in
 * the heap, and allows this process several connections. */
#define CLV_STORE_VFS "unix-excl"

struct clv_store {
	sqlite3 *db;
	struct clv_store_log *log; /* NULL: the log was never long */
	sqlite3_stmt *prepared[_STATEMENT_MAX];
	uint64_t n_events; /* 0: not counted yet */
	uint64_t n_added;  /* of users with a bound, since it was last enforced */
	bool is_relaxed;   /* synchronous=NORMAL at present */
	bool in_transaction;
	bool is_full;    /* a change found no room, and the log was not shortened since */
	bool lacks_room; /* a change found no room, and clv_store_probe_room() none since
			  */
	ino_t log_inode; /* of the write-ahead log; 0: there is none */
};

/* Converts an SQLite result into -ENOSPC, -EBUSY or -EIO, sets *err and returns the code.
 * db may be NULL. */
int clv_store_error(struct clv_error *err, sqlite3 *db, int code, const char *doing);

/* Upgrades the tables from the version before this one, in a transaction. */
int clv_store_upgrade(struct clv_store *store, int version, struct clv_error *err);

/* The inode of the write-ahead log at its path; 0: there is none. */
ino_t clv_store_log_inode(const struct clv_store *store);

/* relaxed: commits are not synced, for rows that need not survive a crash of the machine.
 * No effect within a transaction, where SQLite cannot change this. */
void clv_store_set_relaxed(struct clv_store *store, bool relaxed);

/* Starts to checkpoint the write-ahead log whenever it is long (store-log.c). */
void clv_store_log_watch(struct clv_store *store);
/* Checkpoints as much of the log as is possible now, outside of a transaction.  After a
 * commit that found the disk full this makes the log's own blocks available again. */
void clv_store_log_shorten(struct clv_store *store);
/* Ends the checkpoint thread.  To be called before the store's connection is closed. */
struct clv_store_log *clv_store_log_free(struct clv_store_log *log);

/* Statements that are run rarely.  prepare returns 0 and *ret; finish runs and finalizes
 * a statement without rows; end finalizes one after its last row (step), or after a
 * callback returned r < 0.  Error messages begin with doing. */
int clv_store_prepare(struct clv_store *store, const char *sql, const char *doing,
	sqlite3_stmt **ret, struct clv_error *err);
/* As clv_store_prepare(), and frees sql; NULL: -ENOMEM. */
int clv_store_prepare_owned(struct clv_store *store, char *sql, const char *doing,
	sqlite3_stmt **ret, struct clv_error *err);
int clv_store_finish(struct clv_store *store, sqlite3_stmt *query, const char *doing,
	struct clv_error *err);
int clv_store_finish_rows(struct clv_store *store, sqlite3_stmt *query, int step, int r,
	const char *doing, struct clv_error *err);
/* NULL is bound as "", and read as "". */
void clv_store_bind_text(sqlite3_stmt *query, int at, const char *text);
const char *clv_store_text(sqlite3_stmt *row, int at);
