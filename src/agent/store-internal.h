/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/store.h"

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
	PUT_LEASE_DEVICE,
	READ_LEASE_DEVICES,
	PUT_DEVICE,
	GET_DEVICE,
	ADD_EVENT,
	DROP_EVENTS,
	READ_EVENTS,
	LAST_EVENT,
	_STATEMENT_MAX,
};

struct clv_store {
	sqlite3 *db;
	sqlite3_stmt *prepared[_STATEMENT_MAX];
	bool is_relaxed; /* synchronous=NORMAL at present */
	bool in_transaction;
};

/* Stores and returns -ENOSPC, -EBUSY or -EIO.  db may be NULL. */
int clv_store_error(struct clv_error *err, sqlite3 *db, int code, const char *doing);

/* What need not survive the machine is not waited for.  SQLite takes this setting only
 * between transactions. */
void clv_store_set_relaxed(struct clv_store *store, bool relaxed);
