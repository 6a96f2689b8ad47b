/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the audit, and its route. */
#include "agent/api/audit.h"

#include "agent/api/handler/api.h"
#include "agent/http/problem.h"
#include "agent/ledger/tenants.h"
#include "agent/os/json-fields.h"
#include "agent/record/agent.h"
#include "agent/store/state.h"
#include "agent/store/store.h"
#include "agent/user/bucket.h"
#include "agent/user/owner.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>

#define PAGE 1000u

/* A refused attempt costs its caller nothing, and the agent three pages of the state
 * file's log and a line: a minute of them must not write a megabyte, of one user or of
 * many. */
static const struct clv_bucket_rule refusals_of_each = {10, 4 * CLV_NS_PER_S};
static const struct clv_bucket_rule refusals_of_all = {30, CLV_NS_PER_S};

/* Changes of its own leases cost a tenant nothing, as refused attempts do. */
static const struct clv_bucket_rule changes_of_each = {500, CLV_NS_PER_S / 5};
static const struct clv_bucket_rule changes_of_all = {2000, CLV_NS_PER_S / 20};

struct clv_buckets *clv_audit_new_refusals(void)
{
	return clv_buckets_new(&refusals_of_each, &refusals_of_all);
}

struct clv_buckets *clv_audit_new_tenant_changes(void)
{
	return clv_buckets_new(&changes_of_each, &changes_of_all);
}

/* Whether this attempt is written; *ret_withheld: those of the caller since the last. */
static bool may_write(
	const struct clv_request *request, bool is_refused, uint64_t *ret_withheld)
{
	const struct clv_caller *caller = &request->caller;
	const struct clv_agent *agent = request->agent;
	uint64_t key = caller->token[0] ? clv_bucket_key(caller->token)
					: clv_owner_account(caller->subject, caller->uid);

	if (!is_refused && caller->scope != CLV_SCOPE_TENANT)
		return true;
	return clv_buckets_take(is_refused ? agent->refusals : agent->tenant_changes, key,
		clv_clock_ns(), ret_withheld);
}

static void fill_detail(const struct clv_request *request, const struct clv_error *err,
	uint64_t withheld, char *ret, size_t ret_bytes)
{
	const char *detail = err ? err->msg : request->detail;

	if (withheld > 0)
		snprintf(ret, ret_bytes, "%" PRIu64 " %s before this are not written; %s",
			withheld, err ? "refusals" : "changes", detail);
	else
		snprintf(ret, ret_bytes, "%s", detail);
}

void clv_audit_note(const struct clv_request *request, const char *action,
	const char *object, const struct clv_error *err)
{
	const struct clv_caller *caller = &request->caller;
	struct clv_audit_record record = {
		.time_real_ns = clv_clock_real_ns(),
		.uid = caller->uid,
		.by_admin = caller->scope == CLV_SCOPE_ADMIN,
	};
	struct clv_store *store = clv_state_get(request->agent, NULL);
	static const struct clv_audit_bounds bounds = {
		.all = CLV_AUDIT_KEPT, .of_one = CLV_AUDIT_KEPT / 10};
	struct clv_error why = {0};
	uint64_t withheld = 0;

	if (!may_write(request, err != NULL, &withheld))
		return;
	snprintf(record.subject, sizeof(record.subject), "%s", caller->subject);
	snprintf(record.token, sizeof(record.token), "%s", caller->token);
	snprintf(record.origin, sizeof(record.origin), "%s", caller->from);
	snprintf(record.action, sizeof(record.action), "%s", action);
	snprintf(record.object, sizeof(record.object), "%s",
		request->object[0] ? request->object : object);
	fill_detail(request, err, withheld, record.detail, sizeof(record.detail));
	snprintf(record.result, sizeof(record.result), "%s",
		err ? clv_problem_code(err->code) : "ok");
	clv_log_info("audit: %s (%s) %s %s: %s", record.subject, record.origin,
		record.action, record.object, record.result);
	if (store && clv_store_add_audit(store, &record, &bounds, &why) < 0)
		clv_log_warning(0, "%s", why.msg);
}

struct found {
	json_t *items;
	uint64_t last_id;
};

static int append(void *userdata, const struct clv_audit_record *record)
{
	struct found *found = userdata;
	json_t *item = json_object(), *who = json_object();
	char time[32];

	clv_clock_format_rfc3339(record->time_real_ns, time);
	clv_json_set_text(who, "subject", record->subject);
	json_object_set_new(who, "uid", clv_tenant_uid_to_json(record->uid));
	json_object_set_new(who, "token",
		record->token[0] ? json_string(record->token) : json_null());
	json_object_set_new(item, "id", json_integer((json_int_t)record->id));
	json_object_set_new(item, "time", json_string(time));
	json_object_set_new(item, "who", who);
	clv_json_set_text(item, "from", record->origin);
	clv_json_set_text(item, "action", record->action);
	clv_json_set_text(item, "object", record->object);
	clv_json_set_text(item, "detail", record->detail);
	clv_json_set_text(item, "result", record->result);
	json_array_append_new(found->items, item);
	found->last_id = record->id;
	return 0;
}

int clv_api_get_audit(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_store *store = clv_state_get(request->agent, err);
	struct found found = {.items = json_array()};
	struct clv_page page;
	int r = store ? clv_api_get_page(request, PAGE, &page, err) : err->code;

	if (r >= 0)
		r = clv_store_read_audit(
			store, page.after, page.limit, append, &found, err);
	if (r < 0) {
		json_decref(found.items);
		return r;
	}
	request->status = 200;
	request->answer = clv_api_list(found.items,
		json_array_size(found.items) == page.limit ? found.last_id : 0);
	return 0;
}
