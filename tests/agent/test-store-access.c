/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens, idempotency keys, the audit, debts, cordons and names of devices in the state
 * file. */
#include "store-kinds.h"

#include "arbiter/policy/policy.h"
#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LEASE "l0"

static int put_cordon(struct clv_store *store, unsigned int v)
{
	return clv_store_put_cordon(store, "GPU-0", v == 1 ? "fans" : "", NULL);
}

static int take_out_cordon(struct clv_store *store)
{
	return clv_store_put_cordon(store, "GPU-0", NULL, NULL);
}

static int on_cordon(void *userdata, const char *uuid, const char *reason)
{
	fprintf(userdata, "%s '%s'\n", uuid, reason);
	return 0;
}

static void read_cordons(struct clv_store *store, FILE *to)
{
	assert_int_equal(clv_store_read_cordons(store, on_cordon, to, NULL), 0);
}

static void expect_cordon(FILE *to, unsigned int v)
{
	on_cordon(to, "GPU-0", v == 1 ? "fans" : "");
}

static int put_name(struct clv_store *store, unsigned int v)
{
	return clv_store_put_name(store, "GPU-0", v == 1 ? "gpu0" : "gpu7", NULL);
}

static void read_names(struct clv_store *store, FILE *to)
{
	assert_int_equal(clv_store_read_names(store, on_cordon, to, NULL), 0);
}

static void expect_name(FILE *to, unsigned int v)
{
	on_cordon(to, "GPU-0", v == 1 ? "gpu0" : "gpu7");
}

static struct clv_policy_debt debt_of(unsigned int v)
{
	return (struct clv_policy_debt){.tenant = v == 1 ? "alice" : "bob",
		.weight_ppm = 100000 * v,
		.class = CLV_CLASS_BATCH,
		.debt_ns = STORE_LARGE + v};
}

static int put_debt(struct clv_store *store, unsigned int v)
{
	struct clv_policy_debt debt = debt_of(v);

	return clv_store_put_debt(store, "GPU-0", &debt, NULL);
}

static int take_out_debts(struct clv_store *store)
{
	return clv_store_clear_debts(store, "GPU-0", NULL);
}

static int on_debt(void *userdata, const struct clv_policy_debt *debt)
{
	fprintf(userdata, "%s %u %d %" PRIu64 "\n", debt->tenant, debt->weight_ppm,
		(int)debt->class, debt->debt_ns);
	return 0;
}

static void read_debts(struct clv_store *store, FILE *to)
{
	assert_int_equal(clv_store_read_debts(store, "GPU-0", on_debt, to, NULL), 0);
	assert_int_equal(clv_store_read_debts(store, "GPU-1", on_debt, to, NULL), 0);
}

static void expect_debt(FILE *to, unsigned int v)
{
	struct clv_policy_debt debt = debt_of(v);

	on_debt(to, &debt);
}

/* --- Who may do what, and who did --- */

static struct clv_token_record token_of(unsigned int v)
{
	struct clv_token_record token = {.id = "t1",
		.name = {'c', v == 1 ? 'i' : 'd'},
		.tenant = "@team",
		.scope = v == 1 ? CLV_SCOPE_TENANT : CLV_SCOPE_ADMIN,
		.created_real_ns = STORE_LARGE,
		.expires_real_ns = STORE_LARGE + v};

	for (unsigned int i = 0; i < CLV_TOKEN_HASH_BYTES; i++)
		token.hash[i] = (uint8_t)(i * v);
	return token;
}

static int put_token(struct clv_store *store, unsigned int v)
{
	struct clv_token_record token = token_of(v);

	return clv_store_put_token(store, &token, NULL);
}

static int take_out_token(struct clv_store *store)
{
	return clv_store_delete_token(store, "t1", NULL);
}

static int on_token(void *userdata, const struct clv_token_record *token)
{
	fprintf(userdata, "%s %s %s %d %" PRIu64 " %" PRIu64 " ", token->id, token->name,
		token->tenant, (int)token->scope, token->created_real_ns,
		token->expires_real_ns);
	for (unsigned int i = 0; i < CLV_TOKEN_HASH_BYTES; i++)
		fprintf(userdata, "%02x", token->hash[i]);
	fputc('\n', userdata);
	return 0;
}

static void read_tokens(struct clv_store *store, FILE *to)
{
	assert_int_equal(clv_store_read_tokens(store, on_token, to, NULL), 0);
}

static void expect_token(FILE *to, unsigned int v)
{
	struct clv_token_record token = token_of(v);

	on_token(to, &token);
}

static struct clv_key_record key_of(unsigned int v)
{
	return (struct clv_key_record){.subject = "alice",
		.key = "k",
		.request = "POST 1234",
		.object = {v == 1 ? '\0' : 'l'},
		.time_real_ns = STORE_LARGE};
}

static int put_key(struct clv_store *store, unsigned int v)
{
	struct clv_key_record key = key_of(v);

	return clv_store_put_key(store, &key, NULL);
}

static int take_out_keys(struct clv_store *store)
{
	return clv_store_drop_keys(store, STORE_LARGE + 1, NULL);
}

static void write_key(FILE *to, const struct clv_key_record *key)
{
	fprintf(to, "%s %s %s '%s' %" PRIu64 "\n", key->subject, key->key, key->request,
		key->object, key->time_real_ns);
}

static void read_key(struct clv_store *store, FILE *to)
{
	struct clv_key_record key = {.subject = "alice", .key = "k"};
	struct clv_key_record other = {.subject = "bob", .key = "k"};
	int r = clv_store_get_key(store, &key, NULL);

	assert_int_equal(clv_store_get_key(store, &other, NULL), -ENOENT);
	assert_true(r == 0 || r == -ENOENT);
	if (r == 0)
		write_key(to, &key);
}

static void expect_key(FILE *to, unsigned int v)
{
	struct clv_key_record key = key_of(v);

	write_key(to, &key);
}

static struct clv_audit_record audit_of(unsigned int v)
{
	return (struct clv_audit_record){.id = v,
		.time_real_ns = STORE_LARGE + v,
		.subject = "alice",
		.uid = 4294967294u,
		.token = "t1",
		.origin = "unix",
		.action = "lease.create",
		.object = LEASE,
		.detail = "a 'b'",
		.result = {'o', v == 1 ? 'k' : 'h'}};
}

static int put_audit(struct clv_store *store, unsigned int v)
{
	struct clv_audit_record record = audit_of(v);

	return clv_store_add_audit(
		store, &record, &(struct clv_audit_bounds){.all = 1000}, NULL);
}

static int on_audit(void *userdata, const struct clv_audit_record *r)
{
	fprintf(userdata, "%" PRIu64 " %" PRIu64 " %s %u %s %s %s %s %s %s\n", r->id,
		r->time_real_ns, r->subject, r->uid, r->token, r->origin, r->action,
		r->object, r->detail, r->result);
	return 0;
}

static void read_audit(struct clv_store *store, FILE *to)
{
	assert_int_equal(clv_store_read_audit(store, 0, 100, on_audit, to, NULL), 0);
}

static void expect_audit(FILE *to, unsigned int v)
{
	struct clv_audit_record record = audit_of(v);

	on_audit(to, &record);
}

static struct clv_event event_of(unsigned int v)
{
	return (struct clv_event){.id = v,
		.time_real_ns = STORE_LARGE + v,
		.type = "lease_created",
		.lease = LEASE,
		.name = "train",
		.device = "gpu0",
		.uid = 4294967294u,
		.message = "a 'b'"};
}

static int put_event(struct clv_store *store, unsigned int v)
{
	struct clv_event event = event_of(v);

	return clv_store_add_events(store, &event, 1,
		&(struct clv_event_bounds){.all = 1000, .of_one = 1000}, NULL);
}

static int on_event(void *userdata, const struct clv_event *e)
{
	fprintf(userdata, "%" PRIu64 " %" PRIu64 " %s %s %s %s %u %s\n", e->id,
		e->time_real_ns, e->type, e->lease, e->name, e->device, e->uid,
		e->message);
	return 0;
}

static void read_events(struct clv_store *store, FILE *to)
{
	assert_int_equal(
		clv_store_read_events(store, 0, 100, true, 0, on_event, to, NULL), 0);
}

static void expect_event(FILE *to, unsigned int v)
{
	struct clv_event event = event_of(v);

	on_event(to, &event);
}

/* clang-format off */
static const struct store_kind kinds[] = {
	{"name", put_name, NULL, read_names, expect_name, false},
	{"cordon", put_cordon, take_out_cordon, read_cordons, expect_cordon, false},
	{"debt", put_debt, take_out_debts, read_debts, expect_debt, true},
	{"token", put_token, take_out_token, read_tokens, expect_token, false},
	{"key of a request", put_key, take_out_keys, read_key, expect_key, false},
	{"audit", put_audit, NULL, read_audit, expect_audit, true},
	{"event", put_event, NULL, read_events, expect_event, true, true},
};
/* clang-format on */

int main(void)
{
	return store_kinds_run(kinds, CLV_ARRAY_SIZE(kinds));
}
