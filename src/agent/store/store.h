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

/* The agent's state on disk, one SQLite file that the agent alone has open.  All writers
 * return 0, -ENOSPC (the disk is full) or -EIO, with *err set; a failed write changes
 * nothing.  Loop thread only. */
struct clv_store;

/* Of the tables that this program writes. */
int clv_store_version(void);

/* Opens or makes it.  -EEXIST when it was written by a later version of cleave, -EBUSY
 * when another agent has it. */
int clv_store_open(const char *path, struct clv_store **ret, struct clv_error *err);
struct clv_store *clv_store_free(struct clv_store *store);

/* A file like it, whole, as it is at this moment; path must not be there. */
int clv_store_copy(struct clv_store *store, const char *path, struct clv_error *err);
/* The same of a file that may be anything: -EBADMSG unless it is a sound state of this or
 * an earlier version. */
int clv_store_check_copy(const char *from, const char *to, struct clv_error *err);

int clv_store_put_lease(struct clv_store *store, const struct clv_lease_record *lease,
	struct clv_error *err);
int clv_store_delete_lease(
	struct clv_store *store, const char *id, struct clv_error *err);
int clv_store_clear_leases(struct clv_store *store, struct clv_error *err);

/* Oldest first.  The callback's negative result ends the reading and is returned. */
typedef int (*clv_store_lease_fn)(void *userdata, const struct clv_lease_record *lease);
int clv_store_read_leases(struct clv_store *store, clv_store_lease_fn callback,
	void *userdata, struct clv_error *err);

/* Processes that joined a lease. */
int clv_store_put_holder(struct clv_store *store, const char *lease_id,
	const struct clv_process_id *id, struct clv_error *err);
int clv_store_delete_holder(struct clv_store *store, const char *lease_id,
	const struct clv_process_id *id, struct clv_error *err);
typedef int (*clv_store_holder_fn)(void *userdata, const struct clv_process_id *id);
int clv_store_read_holders(struct clv_store *store, const char *lease_id,
	clv_store_holder_fn callback, void *userdata, struct clv_error *err);

/* The devices of a lease behind its first, in order from 1. */
int clv_store_put_lease_device(struct clv_store *store, const char *lease_id,
	unsigned position, const char *uuid, struct clv_error *err);
typedef int (*clv_store_text_fn)(void *userdata, const char *text);
int clv_store_read_lease_devices(struct clv_store *store, const char *lease_id,
	clv_store_text_fn callback, void *userdata, struct clv_error *err);

/* The ids of leases that have processes or more than one device, in order: for all others
 * there is nothing more to be read. */
int clv_store_read_attached(struct clv_store *store, clv_store_text_fn callback,
	void *userdata, struct clv_error *err);

/* Processes do not outlive the machine, so these are not waited for on the disk. */
int clv_store_put_process(struct clv_store *store, const char *lease_id,
	const struct clv_process_record *process, struct clv_error *err);
int clv_store_delete_process(struct clv_store *store, const char *lease_id,
	const struct clv_process_record *process, struct clv_error *err);
typedef int (*clv_store_process_fn)(
	void *userdata, const struct clv_process_record *process);
int clv_store_read_processes(struct clv_store *store, const char *lease_id,
	clv_store_process_fn callback, void *userdata, struct clv_error *err);

/* A device as JSON, so that its leases are adopted before any driver is asked. */
int clv_store_put_device(struct clv_store *store, const char *uuid, const char *json,
	struct clv_error *err);
int clv_store_get_device(struct clv_store *store, const char *uuid, char *ret,
	size_t ret_bytes, struct clv_error *err);

/* The journal of an operation: what is written before and after each step, so that the
 * next agent goes on with it, or back. */
struct clv_journal {
	char id[24];
	char what[128];
	char state[16]; /* "running", "rolling_back"; every other one is an end */
	char error[512];
	uid_t uid;
	uint64_t started_real_ns;
	uint32_t step, n_steps;
	bool is_for_lease;
	bool keeps_layout;  /* the target is to be applied again when an agent starts */
	const char *target; /* layouts, as text */
	const char *before;
};
int clv_store_put_journal(struct clv_store *store, const struct clv_journal *journal,
	struct clv_error *err);
/* What is to be shown of one that has ended, as JSON; of these as many are kept. */
int clv_store_end_journal(struct clv_store *store, const char *id, const char *json,
	uint32_t keep, struct clv_error *err);
/* The ones that have ended, oldest first. */
int clv_store_read_ended(struct clv_store *store, clv_store_text_fn callback,
	void *userdata, struct clv_error *err);
/* The one that has not ended.  -ENOENT: there is none.  The texts are to be freed. */
int clv_store_get_journal(
	struct clv_store *store, struct clv_journal *ret, struct clv_error *err);

/* The layout that was last applied; "" takes it away.  *ret is to be freed, -ENOENT when
 * there is none. */
int clv_store_put_layout(
	struct clv_store *store, const char *layout, struct clv_error *err);
int clv_store_get_layout(struct clv_store *store, char **ret, struct clv_error *err);

/* Names of partitions that were made for leases. */
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

/* Requests that came with a key of their own: what came of them. */
int clv_store_put_key(
	struct clv_store *store, const struct clv_key_record *key, struct clv_error *err);
/* Fills in the rest by subject and key; -ENOENT. */
int clv_store_get_key(
	struct clv_store *store, struct clv_key_record *key, struct clv_error *err);
int clv_store_drop_keys(
	struct clv_store *store, uint64_t before_real_ns, struct clv_error *err);

/* Who changed what. */
#define CLV_AUDIT_KEPT 100000u
struct clv_audit_record {
	uint64_t id, time_real_ns;
	char subject[64];
	uid_t uid; /* CLV_CALLER_NOBODY: none */
	char token[CLV_TOKEN_ID_MAX];
	char origin[64];
	char action[32]; /* "lease.create" */
	char object[96];
	char detail[256];
	char result[24]; /* "ok", or the code of the problem */
};
/* How many are kept, about; of_one: of one subject, so that nobody can push out what the
 * others did; 0: as many as of all. */
struct clv_audit_bounds {
	uint64_t all, of_one;
};
int clv_store_add_audit(struct clv_store *store, const struct clv_audit_record *record,
	const struct clv_audit_bounds *bounds, struct clv_error *err);
typedef int (*clv_store_audit_fn)(void *userdata, const struct clv_audit_record *record);
int clv_store_read_audit(struct clv_store *store, uint64_t after, uint64_t limit,
	clv_store_audit_fn callback, void *userdata, struct clv_error *err);

/* Devices that take no new lease; a reason of NULL: it takes them again. */
int clv_store_put_cordon(struct clv_store *store, const char *uuid, const char *reason,
	struct clv_error *err);
typedef int (*clv_store_cordon_fn)(void *userdata, const char *uuid, const char *reason);
int clv_store_read_cordons(struct clv_store *store, clv_store_cordon_fn callback,
	void *userdata, struct clv_error *err);

/* What tenants owe on a device; survives the agent and need not survive the machine. */
struct clv_policy_debt;
int clv_store_put_debt(struct clv_store *store, const char *uuid,
	const struct clv_policy_debt *debt, struct clv_error *err);
int clv_store_clear_debts(
	struct clv_store *store, const char *uuid, struct clv_error *err);
typedef int (*clv_store_debt_fn)(void *userdata, const struct clv_policy_debt *debt);
int clv_store_read_debts(struct clv_store *store, const char *uuid,
	clv_store_debt_fn callback, void *userdata, struct clv_error *err);

/* How many events are kept; of one user, who is not root and not the agent's own. */
struct clv_event_bounds {
	uint64_t all, of_one;
	uid_t own_uid;
};

/* Appends all or none, and drops what is over the bounds, a little late. */
int clv_store_add_events(struct clv_store *store, const struct clv_event *events,
	size_t n_events, const struct clv_event_bounds *bounds, struct clv_error *err);
typedef int (*clv_store_event_fn)(void *userdata, const struct clv_event *event);
/* Events after an id, oldest first; those of uid and those of nobody, or all. */
int clv_store_read_events(struct clv_store *store, uint64_t after, uint64_t limit,
	bool all, uid_t uid, clv_store_event_fn callback, void *userdata,
	struct clv_error *err);
int clv_store_last_event(
	struct clv_store *store, uint64_t *ret_id, struct clv_error *err);

/* One transaction around several of the calls above. */
/* relaxed: what is written survives the agent and need not survive the machine, so that
 * a slow disk does not hold up the loop. */
int clv_store_begin(struct clv_store *store, bool relaxed, struct clv_error *err);
int clv_store_commit(struct clv_store *store, struct clv_error *err);
void clv_store_rollback(struct clv_store *store);
