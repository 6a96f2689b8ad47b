/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/event-record.h"
#include "agent/record/lease-record.h"
#include "agent/record/scope.h"
#include "agent/record/store-key.h"
#include "agent/record/token-record.h"

#include <stdbool.h>
#include <stdint.h>

struct clv_error;

/* The agent's state on disk: an SQLite file that only this agent has open.  All writers
 * return 0, -ENOSPC (the disk is full) or -EIO and set *err; a failed write changes
 * nothing.  Loop thread only. */
struct clv_store;

/* The version of the schema that this program writes. */
int clv_store_version(void);

/* Opens or creates the file.  -EEXIST: a later version of cleave wrote it; -EBUSY:
 * another agent has it open. */
int clv_store_open(const char *path, struct clv_store **ret, struct clv_error *err);
struct clv_store *clv_store_free(struct clv_store *store);

/* -EIO: the file, or its write-ahead log, was removed or replaced, so that another agent
 * would not find what is written.  Then nothing is written that survives a restart of the
 * machine; copies can still be made. */
int clv_store_check_place(const struct clv_store *store, struct clv_error *err);

/* Writes a consistent copy of the state to path, which must not exist. */
int clv_store_copy(struct clv_store *store, const char *path, struct clv_error *err);
/* Copies a file that may not be a state file to "to", which is replaced.  -EBADMSG: it is
 * not a valid state of this or an earlier version. */
int clv_store_check_copy(const char *from, const char *to, struct clv_error *err);

/* Whether the latest change that needed room on the disk, or the latest probe, found
 * none. */
bool clv_store_lacks_room(const struct clv_store *store);
/* If so, tries a change of the size of a lease, which leaves nothing. */
void clv_store_probe_room(struct clv_store *store);

int clv_store_put_lease(struct clv_store *store, const struct clv_lease_record *lease,
	struct clv_error *err);
int clv_store_delete_lease(
	struct clv_store *store, const char *id, struct clv_error *err);
int clv_store_clear_leases(struct clv_store *store, struct clv_error *err);

/* Reads oldest first.  A negative result of the callback ends the reading and is
 * returned. */
typedef int (*clv_store_lease_fn)(void *userdata, const struct clv_lease_record *lease);
int clv_store_read_leases(struct clv_store *store, clv_store_lease_fn callback,
	void *userdata, struct clv_error *err);

/* Processes that joined a lease besides the one that requested it. */
int clv_store_put_holder(struct clv_store *store, const char *lease_id,
	const struct clv_process_id *id, struct clv_error *err);
int clv_store_delete_holder(struct clv_store *store, const char *lease_id,
	const struct clv_process_id *id, struct clv_error *err);
typedef int (*clv_store_holder_fn)(void *userdata, const struct clv_process_id *id);
int clv_store_read_holders(struct clv_store *store, const char *lease_id,
	clv_store_holder_fn callback, void *userdata, struct clv_error *err);

/* The devices of a lease after its first one, by position from 1. */
int clv_store_put_lease_device(struct clv_store *store, const char *lease_id,
	unsigned position, const char *uuid, struct clv_error *err);
typedef int (*clv_store_text_fn)(void *userdata, const char *text);
int clv_store_read_lease_devices(struct clv_store *store, const char *lease_id,
	clv_store_text_fn callback, void *userdata, struct clv_error *err);

/* The ids of the leases with processes, holders or more than one device, in order.  All
 * other leases consist of their record alone. */
int clv_store_read_attached(struct clv_store *store, clv_store_text_fn callback,
	void *userdata, struct clv_error *err);

/* Attached processes.  Not synced, because processes do not survive the machine. */
int clv_store_put_process(struct clv_store *store, const char *lease_id,
	const struct clv_process_record *process, struct clv_error *err);
int clv_store_delete_process(struct clv_store *store, const char *lease_id,
	const struct clv_process_record *process, struct clv_error *err);
typedef int (*clv_store_process_fn)(
	void *userdata, const struct clv_process_record *process);
int clv_store_read_processes(struct clv_store *store, const char *lease_id,
	clv_store_process_fn callback, void *userdata, struct clv_error *err);

/* A device as JSON, by which its leases are adopted before a driver is asked. */
int clv_store_put_device(struct clv_store *store, const char *uuid, const char *json,
	struct clv_error *err);
int clv_store_get_device(struct clv_store *store, const char *uuid, char *ret,
	size_t ret_bytes, struct clv_error *err);

/* The journal of an operation, written when the operation is accepted, before and after
 * each step, from which the next agent resumes the operation or rolls it back. */
struct clv_journal {
	char id[24];
	char what[128];
	/* "surveying", "waiting", "running" or "rolling_back"; any other is final. */
	char state[16];
	char error[512];
	uid_t uid;
	uint64_t started_real_ns;
	uint32_t step, n_steps;
	bool is_for_lease;
	bool keeps_layout; /* agents apply the target again when they start */
	/* Layouts as text, with devices by UUID: the one to apply, and the one that a
	 * rollback restores. */
	const char *target;
	const char *before;
	const char *written; /* the target as its user wrote it; "": no user wrote one */
	const char *request; /* the rest of the request as JSON; "": there is none */
};
int clv_store_put_journal(struct clv_store *store, const struct clv_journal *journal,
	struct clv_error *err);
/* Stores what the API shows of an operation that has ended, as JSON, and deletes all but
 * the latest keep operations. */
int clv_store_end_journal(struct clv_store *store, const char *id, const char *json,
	uint32_t keep, struct clv_error *err);
/* The operations that have ended, oldest first. */
int clv_store_read_ended(struct clv_store *store, clv_store_text_fn callback,
	void *userdata, struct clv_error *err);
/* The operations that have not ended, oldest first.  Their texts are valid during the
 * callback only, which must not write to the store. */
typedef int (*clv_store_journal_fn)(void *userdata, const struct clv_journal *journal);
int clv_store_read_journal(struct clv_store *store, clv_store_journal_fn callback,
	void *userdata, struct clv_error *err);

/* The kept layout: as its user wrote it, and with its devices by UUID ("" where an
 * earlier version has stored it).  "" as text deletes it.  The caller frees the texts;
 * ret_resolved may be NULL.  -ENOENT: there is none. */
int clv_store_put_layout(struct clv_store *store, const char *text, const char *resolved,
	struct clv_error *err);
int clv_store_get_layout(struct clv_store *store, char **ret_text, char **ret_resolved,
	struct clv_error *err);

/* The names of devices, by UUID. */
int clv_store_put_name(struct clv_store *store, const char *uuid, const char *name,
	struct clv_error *err);
typedef int (*clv_store_name_fn)(void *userdata, const char *uuid, const char *name);
int clv_store_read_names(struct clv_store *store, clv_store_name_fn callback,
	void *userdata, struct clv_error *err);

/* Names of partitions that were created for one lease each. */
int clv_store_put_ephemeral(
	struct clv_store *store, const char *name, bool turned_on, struct clv_error *err);
int clv_store_delete_ephemeral(
	struct clv_store *store, const char *name, struct clv_error *err);
typedef int (*clv_store_ephemeral_fn)(void *userdata, const char *name, bool turned_on);
int clv_store_read_ephemeral(struct clv_store *store, clv_store_ephemeral_fn callback,
	void *userdata, struct clv_error *err);

/* Standing shares. */
struct clv_standing_share;
int clv_store_clear_standing(struct clv_store *store, struct clv_error *err);
int clv_store_put_standing(struct clv_store *store,
	const struct clv_standing_share *share, struct clv_error *err);
typedef int (*clv_store_standing_fn)(
	void *userdata, const struct clv_standing_share *share);
int clv_store_read_standing(struct clv_store *store, clv_store_standing_fn callback,
	void *userdata, struct clv_error *err);

/* Tokens. */
int clv_store_put_token(struct clv_store *store, const struct clv_token_record *token,
	struct clv_error *err);
int clv_store_delete_token(
	struct clv_store *store, const char *id, struct clv_error *err);
typedef int (*clv_store_token_fn)(void *userdata, const struct clv_token_record *token);
int clv_store_read_tokens(struct clv_store *store, clv_store_token_fn callback,
	void *userdata, struct clv_error *err);

/* Idempotency keys: requests and the objects that they created.  Of a subject the last
 * CLV_KEYS_KEPT are kept. */
#define CLV_KEYS_KEPT 500u
int clv_store_put_key(
	struct clv_store *store, const struct clv_key_record *key, struct clv_error *err);
/* Looks up subject and key and fills in the other members.  -ENOENT. */
int clv_store_get_key(
	struct clv_store *store, struct clv_key_record *key, struct clv_error *err);
int clv_store_drop_keys(
	struct clv_store *store, uint64_t before_real_ns, struct clv_error *err);

/* The audit: which caller changed what. */
#define CLV_AUDIT_KEPT 100000u
struct clv_audit_record {
	uint64_t id, time_real_ns;
	char subject[64];
	uid_t uid; /* CLV_CALLER_NO_UID: none */
	char token[CLV_TOKEN_ID_MAX];
	char origin[64];
	char action[32]; /* "lease.create" */
	char object[96];
	char detail[256];
	char result[24]; /* "ok", or the code of the problem */
	bool by_admin;   /* not read again */
};
/* How many entries are kept, approximately: of admins, and as many of all others, so that
 * these cannot displace what admins have changed.  of_one: of one other subject. */
struct clv_audit_bounds {
	uint64_t all, of_one;
};
int clv_store_add_audit(struct clv_store *store, const struct clv_audit_record *record,
	const struct clv_audit_bounds *bounds, struct clv_error *err);
typedef int (*clv_store_audit_fn)(void *userdata, const struct clv_audit_record *record);
int clv_store_read_audit(struct clv_store *store, uint64_t after, uint64_t limit,
	clv_store_audit_fn callback, void *userdata, struct clv_error *err);

/* Devices that take no new lease; a NULL reason deletes the cordon. */
int clv_store_put_cordon(struct clv_store *store, const char *uuid, const char *reason,
	struct clv_error *err);
typedef int (*clv_store_cordon_fn)(void *userdata, const char *uuid, const char *reason);
int clv_store_read_cordons(struct clv_store *store, clv_store_cordon_fn callback,
	void *userdata, struct clv_error *err);

/* The debts of tenants on a device.  They survive the agent and need not survive the
 * machine. */
struct clv_policy_debt;
int clv_store_put_debt(struct clv_store *store, const char *uuid,
	const struct clv_policy_debt *debt, struct clv_error *err);
int clv_store_clear_debts(
	struct clv_store *store, const char *uuid, struct clv_error *err);
typedef int (*clv_store_debt_fn)(void *userdata, const struct clv_policy_debt *debt);
int clv_store_read_debts(struct clv_store *store, const char *uuid,
	clv_store_debt_fn callback, void *userdata, struct clv_error *err);

/* How many events are kept: in total, and of one user, except of root and of the agent's
 * own uid. */
struct clv_event_bounds {
	uint64_t all, of_one;
	uid_t own_uid;
};

/* Appends all events or none, and deletes what exceeds the bounds, with some delay: of a
 * user more than of_one, and then the oldest of all. */
int clv_store_add_events(struct clv_store *store, const struct clv_event *events,
	size_t n_events, const struct clv_event_bounds *bounds, struct clv_error *err);
typedef int (*clv_store_event_fn)(void *userdata, const struct clv_event *event);
/* Reads events after an id, oldest first: all, or those of uid and of the agent itself.
 */
int clv_store_read_events(struct clv_store *store, uint64_t after, uint64_t limit,
	bool all, uid_t uid, clv_store_event_fn callback, void *userdata,
	struct clv_error *err);
int clv_store_last_event(
	struct clv_store *store, uint64_t *ret_id, struct clv_error *err);

/* A transaction around several of the calls above.  relaxed: it is not synced; the rows
 * survive the agent and need not survive the machine, so that a slow disk does not block
 * the loop. */
int clv_store_begin(struct clv_store *store, bool relaxed, struct clv_error *err);
int clv_store_commit(struct clv_store *store, struct clv_error *err);
void clv_store_rollback(struct clv_store *store);
