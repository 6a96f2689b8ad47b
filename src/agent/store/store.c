/* SPDX-License-Identifier: Apache-2.0 */
/* The state in SQLite: WAL, synchronous=FULL, other processes locked out, so that there
 * is no shared-memory file that a full disk could turn into a SIGBUS.  The store reads
 * and writes records; what they mean, and which of them are still valid, is the ledger's.
 */
#include "agent/store/store.h"

#include "agent/record/event-fields.h"
#include "agent/record/lease-fields.h"
#include "agent/store/store-fields.h"
#include "agent/store/store-internal.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const statements[_STATEMENT_MAX] = {
	/* make_statement() derives those of leases and events from their tables of
	 * fields. */
	[DELETE_LEASE] = "DELETE FROM leases WHERE id=?1",
	[CLEAR_LEASES] = "DELETE FROM leases",
	[PUT_PROCESS] = "INSERT OR REPLACE INTO processes(lease,pid,start_ticks,slot,"
			"attached_ns,code,stack,page) VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
	[DELETE_PROCESS] = "DELETE FROM processes WHERE lease=?1 AND pid=?2 AND "
			   "start_ticks=?3 AND slot=?4",
	[READ_PROCESSES] = "SELECT pid,start_ticks,slot,attached_ns,code,stack,page FROM "
			   "processes WHERE lease=?1 ORDER BY rowid",
	[READ_ATTACHED] = "SELECT lease FROM processes UNION SELECT lease FROM "
			  "lease_devices UNION SELECT lease FROM holders ORDER BY 1",
	[PUT_HOLDER] =
		"INSERT OR REPLACE INTO holders(lease,pid,start_ticks) VALUES(?1,?2,?3)",
	[DELETE_HOLDER] =
		"DELETE FROM holders WHERE lease=?1 AND pid=?2 AND start_ticks=?3",
	[READ_HOLDERS] = "SELECT pid,start_ticks FROM holders WHERE lease=?1",
	[PUT_LEASE_DEVICE] =
		"INSERT OR REPLACE INTO lease_devices(lease,position,device_uuid) "
		"VALUES(?1,?2,?3)",
	[READ_LEASE_DEVICES] = "SELECT device_uuid FROM lease_devices WHERE lease=?1 "
			       "ORDER BY position",
	/* Most rows are written unchanged: no page is written then. */
	[PUT_DEVICE] = "INSERT INTO devices(uuid,json) VALUES(?1,?2) ON CONFLICT(uuid) "
		       "DO UPDATE "
		       "SET json=?2 WHERE json IS NOT ?2",
	[GET_DEVICE] = "SELECT json FROM devices WHERE uuid=?1",
	/* The oldest events; and, of each user but root and the agent's own, all but the
	 * newest. */
	[DROP_EVENTS] = "DELETE FROM events WHERE id IN(SELECT id FROM events ORDER BY "
			"id LIMIT ?1)",
	[DROP_EVENTS_OF_ONE] =
		"DELETE FROM events WHERE id IN(SELECT id FROM(SELECT id,uid,row_number()"
		"OVER(PARTITION BY uid ORDER BY id DESC)AS n FROM events)WHERE n>?1 AND "
		"uid NOT IN(-1,0,?2))",
	[COUNT_EVENTS] = "SELECT count(*) FROM events",
	[LAST_EVENT] = "SELECT coalesce(max(id),0) FROM events",
};

int clv_store_error(struct clv_error *err, sqlite3 *db, int code, const char *doing)
{
	int system_errno = db ? sqlite3_system_errno(db) : 0;

	switch (code & 0xff) {
	case SQLITE_FULL:
		return clv_error_set(err, -ENOSPC,
			"%s: the disk of the agent's state is full: free some space "
			"there",
			doing);
	case SQLITE_BUSY:
		return clv_error_set(err, -EBUSY,
			"%s: another agent has the state file open: stop it or use "
			"another --state-dir",
			doing);
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return clv_error_set(err, -EIO,
			"%s: the agent may not write its state (%s): make its disk and "
			"folder writable, or use another --state-dir",
			doing, db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return clv_error_set(err, -EIO,
			"%s: the state file is damaged (%s): move it away, or use "
			"another --state-dir; running leases continue",
			doing, db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
	default:
		if (system_errno == ENOSPC || system_errno == EDQUOT)
			return clv_error_set(err, -ENOSPC,
				"%s: the disk of the agent's state is full: free some "
				"space there",
				doing);
		return clv_error_set(err, -EIO, "%s: %s", doing,
			db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
	}
}

static int run(struct clv_store *store, const char *sql, const char *doing,
	struct clv_error *err)
{
	int r = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return r == SQLITE_OK ? 0 : clv_store_error(err, store->db, r, doing);
}

static int get_version(struct clv_store *store, int *ret, struct clv_error *err)
{
	sqlite3_stmt *query = NULL;
	int r = sqlite3_prepare_v2(store->db, "PRAGMA user_version", -1, &query, NULL);

	if (r == SQLITE_OK)
		r = sqlite3_step(query);
	if (r == SQLITE_ROW)
		*ret = sqlite3_column_int(query, 0);
	sqlite3_finalize(query);
	return r == SQLITE_ROW
		       ? 0
		       : clv_store_error(err, store->db, r, "cannot read the state");
}

/* The caller frees the statement; NULL: out of memory. */
static char *make_statement(enum statement which)
{
	switch (which) {
	case PUT_LEASE:
		return clv_store_fields_put("leases", &clv_lease_fields);
	case READ_LEASES:
		return clv_store_fields_read(
			"leases", &clv_lease_fields, "ORDER BY rowid");
	case ADD_EVENT:
		return clv_store_fields_put("events", &clv_event_fields);
	case READ_EVENTS:
		return clv_store_fields_read("events", &clv_event_fields,
			"WHERE id>?1 AND (?2 OR uid=?3 OR uid=-1) ORDER BY id LIMIT ?4");
	default:
		return strdup(statements[which]);
	}
}

static int prepare_all(struct clv_store *store, struct clv_error *err)
{
	for (int i = 0; i < _STATEMENT_MAX; i++) {
		_cleanup_free_ char *sql = make_statement((enum statement)i);
		int r = sql ? sqlite3_prepare_v3(store->db, sql, -1,
				      SQLITE_PREPARE_PERSISTENT, &store->prepared[i],
				      NULL)
			    : SQLITE_NOMEM;

		if (r != SQLITE_OK)
			return clv_store_error(err, store->db, r, "cannot use the state");
	}
	return 0;
}

static int prepare(struct clv_store *store, struct clv_error *err)
{
	int version = 0, r;
	bool is_upgraded;

	r = run(store,
		"PRAGMA journal_mode=WAL;"
		"PRAGMA synchronous=FULL;PRAGMA foreign_keys=ON;"
		"PRAGMA temp_store=MEMORY;PRAGMA journal_size_limit=33554432;",
		"cannot open the state", err);
	if (r < 0)
		return r;
	r = get_version(store, &version, err);
	if (r < 0)
		return r;
	if (version > clv_store_version())
		return clv_error_set(err, -EEXIST,
			"the state was written by a later cleave (schema %d, this one "
			"knows %d): update cleave or use another --state-dir",
			version, clv_store_version());
	is_upgraded = version < clv_store_version();
	while (r >= 0 && version < clv_store_version())
		r = clv_store_upgrade(store, ++version, err);
	/* The file gets its size now, and not when the disk may be full. */
	if (r >= 0 && is_upgraded)
		clv_store_log_shorten(store);
	return r < 0 ? r : prepare_all(store, err);
}

/* SQLite would create the file with the mode that the umask leaves; its log gets that of
 * the file.  A file that cannot be changed is reported by SQLite. */
static void restrict_access(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	/* An existing file is not opened: to close it would release SQLite's locks. */
	if (fd >= 0)
		close(fd);
	else if (chmod(path, 0600) < 0)
		return;
}

/* To open a FIFO would wait for its other end. */
static int check_regular(const char *path, struct clv_error *err)
{
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return clv_error_set(err, -EINVAL,
			"%s: cannot open the state: it is not a regular file: remove it, "
			"or choose another --state-dir",
			path);
	return 0;
}

int clv_store_open(const char *path, struct clv_store **ret, struct clv_error *err)
{
	struct clv_store *store;
	int r = check_regular(path, err);

	if (r < 0)
		return r;
	store = calloc(1, sizeof(*store));
	if (!store)
		return clv_error_errno(err, ENOMEM, "cannot open the state");
	restrict_access(path);
	r = sqlite3_open_v2(path, &store->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
			SQLITE_OPEN_EXRESCODE,
		CLV_STORE_VFS);
	if (r != SQLITE_OK)
		r = clv_store_error(err, store->db, r, "cannot open the state");
	else
		r = prepare(store, err);
	if (r < 0) {
		clv_error_prefix(err, "%s", path);
		clv_store_free(store);
		return r;
	}
	store->log_inode = clv_store_log_inode(store);
	clv_store_log_watch(store);
	*ret = store;
	return 0;
}

struct clv_store *clv_store_free(struct clv_store *store)
{
	if (!store)
		return NULL;
	clv_store_log_free(store->log);
	for (int i = 0; i < _STATEMENT_MAX; i++)
		sqlite3_finalize(store->prepared[i]);
	sqlite3_close(store->db);
	free(store);
	return NULL;
}

static void bind_text(sqlite3_stmt *query, int at, const char *text)
{
	sqlite3_bind_text(query, at, text, -1, SQLITE_STATIC);
}

static void bind_number(sqlite3_stmt *query, int at, uint64_t number)
{
	sqlite3_bind_int64(query, at, (sqlite3_int64)number);
}

static void get_text(sqlite3_stmt *query, int at, char *ret, size_t ret_bytes)
{
	const unsigned char *text = sqlite3_column_text(query, at);

	snprintf(ret, ret_bytes, "%s", text ? (const char *)text : "");
}

static uint64_t get_number(sqlite3_stmt *query, int at)
{
	return (uint64_t)sqlite3_column_int64(query, at);
}

void clv_store_set_relaxed(struct clv_store *store, bool relaxed)
{
	if (store->is_relaxed == relaxed || store->in_transaction)
		return;
	if (run(store, relaxed ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL",
		    "", NULL) == 0)
		store->is_relaxed = relaxed;
}

static void note_room(struct clv_store *store, int r)
{
	store->is_full |= r == -ENOSPC;
	store->lacks_room |= r == -ENOSPC;
}

static int finish(struct clv_store *store, enum statement which, const char *doing,
	struct clv_error *err)
{
	sqlite3_stmt *query = store->prepared[which];
	int r = 0, step = SQLITE_DONE;

	if (!store->in_transaction && !store->is_relaxed)
		r = clv_store_check_place(store, err);
	if (r >= 0)
		step = sqlite3_step(query);
	if (step != SQLITE_DONE)
		r = clv_store_error(err, store->db, step, doing);
	sqlite3_reset(query);
	sqlite3_clear_bindings(query);
	note_room(store, r);
	if (store->is_full && !store->in_transaction)
		clv_store_log_shorten(store);
	return r;
}

int clv_store_put_lease(struct clv_store *store, const struct clv_lease_record *lease,
	struct clv_error *err)
{
	sqlite3_stmt *query = store->prepared[PUT_LEASE];

	clv_store_set_relaxed(store, false);
	clv_store_fields_bind(query, &clv_lease_fields, lease);
	return finish(store, PUT_LEASE, "cannot store the lease", err);
}

int clv_store_delete_lease(struct clv_store *store, const char *id, struct clv_error *err)
{
	/* Not synced: no lease survives a restart of the machine. */
	clv_store_set_relaxed(store, true);
	bind_text(store->prepared[DELETE_LEASE], 1, id);
	return finish(store, DELETE_LEASE, "cannot remove the lease", err);
}

int clv_store_clear_leases(struct clv_store *store, struct clv_error *err)
{
	clv_store_set_relaxed(store, false);
	return finish(store, CLEAR_LEASES, "cannot rewrite the leases", err);
}

/* Resets the statement after its last row, or after its callback failed. */
static int end_reading(struct clv_store *store, enum statement which, int step,
	int callback, struct clv_error *err)
{
	int r = callback;

	if (callback >= 0 && step != SQLITE_DONE && step != SQLITE_ROW)
		r = clv_store_error(err, store->db, step, "cannot read the state");
	sqlite3_reset(store->prepared[which]);
	sqlite3_clear_bindings(store->prepared[which]);
	return r;
}

int clv_store_read_leases(struct clv_store *store, clv_store_lease_fn callback,
	void *userdata, struct clv_error *err)
{
	sqlite3_stmt *query = store->prepared[READ_LEASES];
	int step, r = 0;

	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW) {
		struct clv_lease_record lease = {0};

		clv_store_fields_get(query, &clv_lease_fields, &lease);
		r = callback(userdata, &lease);
	}
	return end_reading(store, READ_LEASES, step, r, err);
}

static void bind_process(sqlite3_stmt *query, const char *lease_id,
	const struct clv_process_record *process)
{
	bind_text(query, 1, lease_id);
	bind_number(query, 2, (uint64_t)process->id.pid);
	bind_number(query, 3, process->id.start_ticks);
	bind_number(query, 4, process->slot);
}

int clv_store_put_process(struct clv_store *store, const char *lease_id,
	const struct clv_process_record *process, struct clv_error *err)
{
	sqlite3_stmt *query = store->prepared[PUT_PROCESS];

	clv_store_set_relaxed(store, true);
	bind_process(query, lease_id, process);
	bind_number(query, 5, process->attached_real_ns);
	bind_number(query, 6, process->layout.code);
	bind_number(query, 7, process->layout.stack);
	bind_number(query, 8, process->page);
	return finish(store, PUT_PROCESS, "cannot store the process", err);
}

int clv_store_delete_process(struct clv_store *store, const char *lease_id,
	const struct clv_process_record *process, struct clv_error *err)
{
	clv_store_set_relaxed(store, true);
	bind_process(store->prepared[DELETE_PROCESS], lease_id, process);
	return finish(store, DELETE_PROCESS, "cannot remove the process", err);
}

int clv_store_read_processes(struct clv_store *store, const char *lease_id,
	clv_store_process_fn callback, void *userdata, struct clv_error *err)
{
	sqlite3_stmt *query = store->prepared[READ_PROCESSES];
	int step, r = 0;

	bind_text(query, 1, lease_id);
	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW) {
		struct clv_process_record process = {
			.id.pid = (pid_t)get_number(query, 0),
			.id.start_ticks = get_number(query, 1),
			.slot = (uint32_t)get_number(query, 2),
			.attached_real_ns = get_number(query, 3),
			.layout.code = get_number(query, 4),
			.layout.stack = get_number(query, 5),
			.page = get_number(query, 6),
		};

		r = callback(userdata, &process);
	}
	return end_reading(store, READ_PROCESSES, step, r, err);
}

static void bind_holder(
	sqlite3_stmt *query, const char *lease_id, const struct clv_process_id *id)
{
	bind_text(query, 1, lease_id);
	bind_number(query, 2, (uint64_t)id->pid);
	bind_number(query, 3, id->start_ticks);
}

int clv_store_put_holder(struct clv_store *store, const char *lease_id,
	const struct clv_process_id *id, struct clv_error *err)
{
	clv_store_set_relaxed(store, true);
	bind_holder(store->prepared[PUT_HOLDER], lease_id, id);
	return finish(store, PUT_HOLDER, "cannot store the holder of the lease", err);
}

int clv_store_delete_holder(struct clv_store *store, const char *lease_id,
	const struct clv_process_id *id, struct clv_error *err)
{
	clv_store_set_relaxed(store, true);
	bind_holder(store->prepared[DELETE_HOLDER], lease_id, id);
	return finish(store, DELETE_HOLDER, "cannot remove the holder of the lease", err);
}

int clv_store_read_holders(struct clv_store *store, const char *lease_id,
	clv_store_holder_fn callback, void *userdata, struct clv_error *err)
{
	sqlite3_stmt *query = store->prepared[READ_HOLDERS];
	int step, r = 0;

	bind_text(query, 1, lease_id);
	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW) {
		struct clv_process_id id = {
			.pid = (pid_t)get_number(query, 0),
			.start_ticks = get_number(query, 1),
		};

		r = callback(userdata, &id);
	}
	return end_reading(store, READ_HOLDERS, step, r, err);
}

int clv_store_put_lease_device(struct clv_store *store, const char *lease_id,
	unsigned position, const char *uuid, struct clv_error *err)
{
	sqlite3_stmt *query = store->prepared[PUT_LEASE_DEVICE];

	clv_store_set_relaxed(store, false);
	bind_text(query, 1, lease_id);
	bind_number(query, 2, position);
	bind_text(query, 3, uuid);
	return finish(store, PUT_LEASE_DEVICE, "cannot store the lease", err);
}

int clv_store_read_lease_devices(struct clv_store *store, const char *lease_id,
	clv_store_text_fn callback, void *userdata, struct clv_error *err)
{
	sqlite3_stmt *query = store->prepared[READ_LEASE_DEVICES];
	int step, r = 0;

	bind_text(query, 1, lease_id);
	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW) {
		char uuid[sizeof(((struct clv_device *)NULL)->uuid)];

		get_text(query, 0, uuid, sizeof(uuid));
		r = callback(userdata, uuid);
	}
	return end_reading(store, READ_LEASE_DEVICES, step, r, err);
}

int clv_store_read_attached(struct clv_store *store, clv_store_text_fn callback,
	void *userdata, struct clv_error *err)
{
	sqlite3_stmt *query = store->prepared[READ_ATTACHED];
	int step, r = 0;

	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW) {
		char id[CLV_LEASE_ID_MAX];

		get_text(query, 0, id, sizeof(id));
		r = callback(userdata, id);
	}
	return end_reading(store, READ_ATTACHED, step, r, err);
}

int clv_store_put_device(struct clv_store *store, const char *uuid, const char *json,
	struct clv_error *err)
{
	clv_store_set_relaxed(store, false);
	bind_text(store->prepared[PUT_DEVICE], 1, uuid);
	bind_text(store->prepared[PUT_DEVICE], 2, json);
	return finish(store, PUT_DEVICE, "cannot store the device", err);
}

int clv_store_get_device(struct clv_store *store, const char *uuid, char *ret,
	size_t ret_bytes, struct clv_error *err)
{
	sqlite3_stmt *query = store->prepared[GET_DEVICE];
	int step;

	bind_text(query, 1, uuid);
	step = sqlite3_step(query);
	if (step == SQLITE_ROW)
		get_text(query, 0, ret, ret_bytes);
	else if (step == SQLITE_DONE)
		return end_reading(store, GET_DEVICE, step,
			clv_error_set(err, -ENOENT, "no device %s is stored", uuid), err);
	return end_reading(store, GET_DEVICE, step, 0, err);
}

static int add_event(
	struct clv_store *store, const struct clv_event *event, struct clv_error *err)
{
	sqlite3_stmt *query = store->prepared[ADD_EVENT];

	clv_store_fields_bind(query, &clv_event_fields, event);
	return finish(store, ADD_EVENT, "cannot store an event", err);
}

static uint64_t count_events(struct clv_store *store)
{
	sqlite3_stmt *query = store->prepared[COUNT_EVENTS];
	uint64_t n = sqlite3_step(query) == SQLITE_ROW ? get_number(query, 0) : 0;

	sqlite3_reset(query);
	return n;
}

/* Drops the excess of single users first, so that one user cannot displace the events of
 * others.  That query sorts the table, so it runs only once one user may have exceeded
 * its bound by a quarter, or all by a twentieth. */
static int drop_events(struct clv_store *store, const struct clv_event_bounds *bounds,
	struct clv_error *err)
{
	static const char doing[] = "cannot drop old events";
	int r;

	if (store->n_added <= bounds->of_one / 4 &&
		store->n_events <= bounds->all + bounds->all / 20)
		return 0;
	store->n_added = 0;
	bind_number(store->prepared[DROP_EVENTS_OF_ONE], 1, bounds->of_one);
	bind_number(store->prepared[DROP_EVENTS_OF_ONE], 2, bounds->own_uid);
	r = finish(store, DROP_EVENTS_OF_ONE, doing, err);
	if (r < 0)
		return r;
	store->n_events = count_events(store);
	if (store->n_events <= bounds->all)
		return 0;
	bind_number(store->prepared[DROP_EVENTS], 1, store->n_events - bounds->all);
	store->n_events = bounds->all;
	return finish(store, DROP_EVENTS, doing, err);
}

static bool is_bounded(
	const struct clv_event *event, const struct clv_event_bounds *bounds)
{
	return event->uid != CLV_EVENT_NO_OWNER && event->uid != 0 &&
	       event->uid != bounds->own_uid;
}

int clv_store_add_events(struct clv_store *store, const struct clv_event *events,
	size_t n_events, const struct clv_event_bounds *bounds, struct clv_error *err)
{
	int r;

	if (n_events == 0)
		return 0;
	r = clv_store_begin(store, true, err);
	for (size_t i = 0; i < n_events && r >= 0; i++) {
		r = add_event(store, &events[i], err);
		store->n_added += is_bounded(&events[i], bounds);
	}
	store->n_events =
		store->n_events ? store->n_events + n_events : count_events(store);
	if (r >= 0)
		r = drop_events(store, bounds, err);
	if (r >= 0)
		r = clv_store_commit(store, err);
	if (r < 0) {
		clv_store_rollback(store);
		store->n_events = 0; /* unknown: counted again at the next call */
	}
	return r;
}

int clv_store_read_events(struct clv_store *store, uint64_t after, uint64_t limit,
	bool all, uid_t uid, clv_store_event_fn callback, void *userdata,
	struct clv_error *err)
{
	sqlite3_stmt *query = store->prepared[READ_EVENTS];
	int step, r = 0;

	bind_number(query, 1, after);
	bind_number(query, 2, all);
	bind_number(query, 3, uid);
	bind_number(query, 4, limit);
	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW) {
		struct clv_event event = {0};

		clv_store_fields_get(query, &clv_event_fields, &event);
		r = callback(userdata, &event);
	}
	return end_reading(store, READ_EVENTS, step, r, err);
}

int clv_store_last_event(struct clv_store *store, uint64_t *ret_id, struct clv_error *err)
{
	sqlite3_stmt *query = store->prepared[LAST_EVENT];
	int step = sqlite3_step(query);

	if (step == SQLITE_ROW)
		*ret_id = get_number(query, 0);
	return end_reading(store, LAST_EVENT, step, 0, err);
}

int clv_store_begin(struct clv_store *store, bool relaxed, struct clv_error *err)
{
	int r;

	clv_store_set_relaxed(store, relaxed);
	r = relaxed ? 0 : clv_store_check_place(store, err);
	if (r >= 0)
		r = run(store, "BEGIN IMMEDIATE", "cannot write the state", err);
	if (r >= 0)
		store->in_transaction = true;
	return r;
}

int clv_store_commit(struct clv_store *store, struct clv_error *err)
{
	int r = run(store, "COMMIT", "cannot write the state", err);

	note_room(store, r);
	if (r >= 0)
		store->in_transaction = false;
	return r;
}

void clv_store_rollback(struct clv_store *store)
{
	/* SQLite may have rolled back already, because the disk is full. */
	if (!sqlite3_get_autocommit(store->db))
		run(store, "ROLLBACK", "cannot undo", NULL);
	store->in_transaction = false;
	if (store->is_full)
		clv_store_log_shorten(store);
}

bool clv_store_lacks_room(const struct clv_store *store)
{
	return store->lacks_room;
}

/* A commit writes the pages that have changed, also if their rows are as before. */
void clv_store_probe_room(struct clv_store *store)
{
	static const struct clv_lease_record lease = {.id = "probe"};
	int r;

	if (!store->lacks_room)
		return;
	r = clv_store_begin(store, false, NULL);
	if (r >= 0)
		r = clv_store_put_lease(store, &lease, NULL);
	if (r >= 0)
		r = clv_store_delete_lease(store, lease.id, NULL);
	if (r >= 0)
		r = clv_store_commit(store, NULL);
	if (r < 0)
		clv_store_rollback(store);
	else
		store->lacks_room = false;
}
