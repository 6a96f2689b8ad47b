/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens, idempotency keys, the audit, names of devices, cordons and debts.  They are
 * written rarely, so their statements are prepared at each use. */
#include "agent/record/token-fields.h"
#include "agent/store/store-fields.h"
#include "agent/store/store-internal.h"

#include "arbiter/policy/policy.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DROP_AUDIT_EVERY 1000

/* Tokens. */

int clv_store_put_token(struct clv_store *store, const struct clv_token_record *token,
	struct clv_error *err)
{
	static const char doing[] = "cannot store the token";
	sqlite3_stmt *query;
	int r = clv_store_prepare_owned(store,
		clv_store_fields_put("tokens", &clv_token_fields), doing, &query, err);

	if (r < 0)
		return r;
	clv_store_fields_bind(query, &clv_token_fields, token);
	return clv_store_finish(store, query, doing, err);
}

int clv_store_delete_token(struct clv_store *store, const char *id, struct clv_error *err)
{
	static const char doing[] = "cannot remove the token";
	sqlite3_stmt *query;
	int r = clv_store_prepare(
		store, "DELETE FROM tokens WHERE id=?1", doing, &query, err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, id);
	return clv_store_finish(store, query, doing, err);
}

/* A row with an invalid scope or hash is skipped: it cannot authenticate a caller. */
static bool is_sound(const struct clv_token_record *token)
{
	static const uint8_t none[CLV_TOKEN_HASH_BYTES];

	return token->scope >= 0 && memcmp(token->hash, none, sizeof(none)) != 0;
}

int clv_store_read_tokens(struct clv_store *store, clv_store_token_fn callback,
	void *userdata, struct clv_error *err)
{
	static const char doing[] = "cannot read the tokens";
	sqlite3_stmt *query;
	int step = SQLITE_DONE;
	int r = clv_store_prepare_owned(store,
		clv_store_fields_read("tokens", &clv_token_fields, "ORDER BY created_ns"),
		doing, &query, err);

	if (r < 0)
		return r;
	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW) {
		struct clv_token_record token = {0};

		clv_store_fields_get(query, &clv_token_fields, &token);
		if (is_sound(&token))
			r = callback(userdata, &token);
	}
	return clv_store_finish_rows(store, query, step, r, doing, err);
}

/* Idempotency keys. */

static const char storing_key[] = "cannot store the idempotency key";

static int drop_oldest_keys(
	struct clv_store *store, const char *subject, struct clv_error *err)
{
	sqlite3_stmt *query;
	int r = clv_store_prepare(store,
		"DELETE FROM keys WHERE subject=?1 AND rowid<=(SELECT rowid FROM keys "
		"WHERE subject=?1 ORDER BY rowid DESC LIMIT 1 OFFSET ?2)",
		storing_key, &query, err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, subject);
	sqlite3_bind_int64(query, 2, CLV_KEYS_KEPT);
	return clv_store_finish(store, query, storing_key, err);
}

int clv_store_put_key(
	struct clv_store *store, const struct clv_key_record *key, struct clv_error *err)
{
	sqlite3_stmt *query;
	int r = clv_store_prepare(store,
		"INSERT OR REPLACE INTO keys(subject,key,request,object,time_ns) "
		"VALUES(?1,?2,?3,?4,?5)",
		storing_key, &query, err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, key->subject);
	clv_store_bind_text(query, 2, key->key);
	clv_store_bind_text(query, 3, key->request);
	clv_store_bind_text(query, 4, key->object);
	sqlite3_bind_int64(query, 5, (sqlite3_int64)key->time_real_ns);
	r = clv_store_finish(store, query, storing_key, err);
	return r < 0 ? r : drop_oldest_keys(store, key->subject, err);
}

int clv_store_get_key(
	struct clv_store *store, struct clv_key_record *key, struct clv_error *err)
{
	static const char doing[] = "cannot look up the idempotency key";
	sqlite3_stmt *query;
	int step;
	int r = clv_store_prepare(store,
		"SELECT request,object,time_ns FROM keys WHERE subject=?1 AND key=?2",
		doing, &query, err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, key->subject);
	clv_store_bind_text(query, 2, key->key);
	step = sqlite3_step(query);
	if (step == SQLITE_ROW) {
		snprintf(key->request, sizeof(key->request), "%s",
			clv_store_text(query, 0));
		snprintf(
			key->object, sizeof(key->object), "%s", clv_store_text(query, 1));
		key->time_real_ns = (uint64_t)sqlite3_column_int64(query, 2);
	} else if (step == SQLITE_DONE) {
		r = -ENOENT;
	}
	return clv_store_finish_rows(store, query, step, r, doing, err);
}

int clv_store_drop_keys(
	struct clv_store *store, uint64_t before_real_ns, struct clv_error *err)
{
	static const char doing[] = "cannot delete old idempotency keys";
	sqlite3_stmt *query;
	int r = clv_store_prepare(
		store, "DELETE FROM keys WHERE time_ns<?1", doing, &query, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(query, 1, (sqlite3_int64)before_real_ns);
	return clv_store_finish(store, query, doing, err);
}

/* The audit. */

static const char writing_audit[] = "cannot write the audit";

static int drop_audit(struct clv_store *store, const char *sql,
	const struct clv_audit_record *newest, uint64_t keep, struct clv_error *err)
{
	sqlite3_stmt *query;
	int r = clv_store_prepare(store, sql, writing_audit, &query, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(query, 1, (sqlite3_int64)keep);
	if (sqlite3_bind_parameter_count(query) > 2)
		clv_store_bind_text(query, 3, newest->subject);
	sqlite3_bind_int64(query, 2, newest->by_admin);
	return clv_store_finish(store, query, writing_audit, err);
}

int clv_store_add_audit(struct clv_store *store, const struct clv_audit_record *record,
	const struct clv_audit_bounds *bounds, struct clv_error *err)
{
	sqlite3_stmt *query;
	int r = clv_store_prepare(store,
		"INSERT INTO audit(time_ns,subject,uid,token,origin,action,object,detail,"
		"result,by_admin) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
		writing_audit, &query, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(query, 1, (sqlite3_int64)record->time_real_ns);
	clv_store_bind_text(query, 2, record->subject);
	sqlite3_bind_int64(query, 3,
		record->uid == CLV_CALLER_NO_UID ? -1 : (sqlite3_int64)record->uid);
	clv_store_bind_text(query, 4, record->token);
	clv_store_bind_text(query, 5, record->origin);
	clv_store_bind_text(query, 6, record->action);
	clv_store_bind_text(query, 7, record->object);
	clv_store_bind_text(query, 8, record->detail);
	clv_store_bind_text(query, 9, record->result);
	sqlite3_bind_int64(query, 10, record->by_admin);
	/* Not synced: an entry must survive the agent, not a crash of the machine. */
	clv_store_set_relaxed(store, true);
	r = clv_store_finish(store, query, writing_audit, err);
	if (r < 0 || sqlite3_last_insert_rowid(store->db) % DROP_AUDIT_EVERY != 0)
		return r;
	r = drop_audit(store,
		"DELETE FROM audit WHERE by_admin=?2 AND id<=(SELECT id FROM audit "
		"WHERE by_admin=?2 ORDER BY id DESC LIMIT 1 OFFSET ?1)",
		record, bounds->all, err);
	if (r < 0 || bounds->of_one == 0 || record->by_admin)
		return r;
	return drop_audit(store,
		"DELETE FROM audit WHERE by_admin=?2 AND subject=?3 AND id<=(SELECT id "
		"FROM audit WHERE by_admin=?2 AND subject=?3 ORDER BY id DESC LIMIT 1 "
		"OFFSET ?1)",
		record, bounds->of_one, err);
}

static void read_audit(sqlite3_stmt *row, struct clv_audit_record *ret)
{
	*ret = (struct clv_audit_record){
		.id = (uint64_t)sqlite3_column_int64(row, 0),
		.time_real_ns = (uint64_t)sqlite3_column_int64(row, 1),
		.uid = (uid_t)sqlite3_column_int64(row, 3),
	};
	snprintf(ret->subject, sizeof(ret->subject), "%s", clv_store_text(row, 2));
	snprintf(ret->token, sizeof(ret->token), "%s", clv_store_text(row, 4));
	snprintf(ret->origin, sizeof(ret->origin), "%s", clv_store_text(row, 5));
	snprintf(ret->action, sizeof(ret->action), "%s", clv_store_text(row, 6));
	snprintf(ret->object, sizeof(ret->object), "%s", clv_store_text(row, 7));
	snprintf(ret->detail, sizeof(ret->detail), "%s", clv_store_text(row, 8));
	snprintf(ret->result, sizeof(ret->result), "%s", clv_store_text(row, 9));
}

int clv_store_read_audit(struct clv_store *store, uint64_t after, uint64_t limit,
	clv_store_audit_fn callback, void *userdata, struct clv_error *err)
{
	static const char doing[] = "cannot read the audit";
	sqlite3_stmt *query;
	int step = SQLITE_DONE;
	int r = clv_store_prepare(store,
		"SELECT id,time_ns,subject,uid,token,origin,action,object,detail,"
		"result FROM audit WHERE id>?1 ORDER BY id LIMIT ?2",
		doing, &query, err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(query, 1, (sqlite3_int64)after);
	sqlite3_bind_int64(query, 2, (sqlite3_int64)limit);
	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW) {
		struct clv_audit_record record;

		read_audit(query, &record);
		r = callback(userdata, &record);
	}
	return clv_store_finish_rows(store, query, step, r, doing, err);
}

/* Reads rows of a UUID and a text. */
static int read_pairs(struct clv_store *store, const char *sql, const char *doing,
	int (*callback)(void *userdata, const char *uuid, const char *text),
	void *userdata, struct clv_error *err)
{
	sqlite3_stmt *query;
	int step = SQLITE_DONE;
	int r = clv_store_prepare(store, sql, doing, &query, err);

	if (r < 0)
		return r;
	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW)
		r = callback(
			userdata, clv_store_text(query, 0), clv_store_text(query, 1));
	return clv_store_finish_rows(store, query, step, r, doing, err);
}

/* Cordons. */

int clv_store_put_cordon(struct clv_store *store, const char *uuid, const char *reason,
	struct clv_error *err)
{
	static const char doing[] = "cannot store the cordon";
	sqlite3_stmt *query;
	int r = clv_store_prepare(store,
		reason ? "INSERT OR REPLACE INTO cordons(uuid,reason) VALUES(?1,?2)"
		       : "DELETE FROM cordons WHERE uuid=?1 AND ?2 IS NOT NULL",
		doing, &query, err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, uuid);
	clv_store_bind_text(query, 2, reason);
	return clv_store_finish(store, query, doing, err);
}

int clv_store_read_cordons(struct clv_store *store, clv_store_cordon_fn callback,
	void *userdata, struct clv_error *err)
{
	return read_pairs(store, "SELECT uuid,reason FROM cordons",
		"cannot read the cordons", callback, userdata, err);
}

/* Names of devices. */

int clv_store_put_name(struct clv_store *store, const char *uuid, const char *name,
	struct clv_error *err)
{
	static const char doing[] = "cannot store the name of a device";
	sqlite3_stmt *query;
	int r = clv_store_prepare(store,
		"INSERT OR REPLACE INTO names(uuid,name) VALUES(?1,?2)", doing, &query,
		err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, uuid);
	clv_store_bind_text(query, 2, name);
	return clv_store_finish(store, query, doing, err);
}

int clv_store_read_names(struct clv_store *store, clv_store_name_fn callback,
	void *userdata, struct clv_error *err)
{
	return read_pairs(store, "SELECT uuid,name FROM names ORDER BY rowid",
		"cannot read the names of devices", callback, userdata, err);
}

/* Debts. */

int clv_store_put_debt(struct clv_store *store, const char *uuid,
	const struct clv_policy_debt *debt, struct clv_error *err)
{
	static const char doing[] = "cannot store a debt";
	sqlite3_stmt *query;
	int r = clv_store_prepare(store,
		"INSERT INTO debts(device_uuid,tenant,weight_ppm,class,debt_ns) "
		"VALUES(?1,?2,?3,?4,?5)",
		doing, &query, err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, uuid);
	clv_store_bind_text(query, 2, debt->tenant);
	sqlite3_bind_int64(query, 3, debt->weight_ppm);
	clv_store_bind_text(query, 4, clv_class_to_string(debt->class));
	sqlite3_bind_int64(query, 5, (sqlite3_int64)debt->debt_ns);
	return clv_store_finish(store, query, doing, err);
}

int clv_store_clear_debts(
	struct clv_store *store, const char *uuid, struct clv_error *err)
{
	static const char doing[] = "cannot delete the debts";
	sqlite3_stmt *query;
	int r = clv_store_prepare(
		store, "DELETE FROM debts WHERE device_uuid=?1", doing, &query, err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, uuid);
	return clv_store_finish(store, query, doing, err);
}

/* Refuses values out of range: the file may have been edited. */
static bool read_debt(sqlite3_stmt *row, struct clv_policy_debt *ret)
{
	int64_t weight_ppm = sqlite3_column_int64(row, 1);
	int64_t debt_ns = sqlite3_column_int64(row, 3);
	int class = clv_class_from_string(clv_store_text(row, 2));

	if (weight_ppm < 1 || weight_ppm > CLV_PPM || debt_ns < 1 || class < 0)
		return false;
	*ret = (struct clv_policy_debt){
		.tenant = clv_store_text(row, 0),
		.weight_ppm = (uint32_t)weight_ppm,
		.class = (enum clv_class) class,
		.debt_ns = (uint64_t)debt_ns,
		.is_gone = true,
	};
	return ret->tenant[0] != '\0';
}

int clv_store_read_debts(struct clv_store *store, const char *uuid,
	clv_store_debt_fn callback, void *userdata, struct clv_error *err)
{
	static const char doing[] = "cannot read the debts";
	struct clv_policy_debt debt;
	sqlite3_stmt *query;
	int step = SQLITE_DONE;
	int r = clv_store_prepare(store,
		"SELECT tenant,weight_ppm,class,debt_ns FROM debts WHERE device_uuid=?1",
		doing, &query, err);

	if (r < 0)
		return r;
	clv_store_bind_text(query, 1, uuid);
	while (r >= 0 && (step = sqlite3_step(query)) == SQLITE_ROW) {
		if (read_debt(query, &debt))
			r = callback(userdata, &debt);
	}
	return clv_store_finish_rows(store, query, step, r, doing, err);
}
