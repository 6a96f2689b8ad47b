/* SPDX-License-Identifier: Apache-2.0 */
/* The route of the history.  A month of minutes is forty thousand rows: the answer is
 * written as text directly, which keeps the loop busy for a shorter time than JSON
 * objects would. */
#include "agent/api/handler/api.h"
#include "agent/device/devices.h"
#include "agent/history/history-file.h"
#include "agent/history/history-time.h"
#include "agent/history/history.h"
#include "agent/ledger/ledger.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_SECONDS 3600
#define DEFAULT_MINUTES 86400

struct wanted {
	const char *of;
	struct clv_history_key key;
	uint32_t step;
	int64_t from, to;
};

static int fail_unknown(const struct wanted *wanted, struct clv_error *err)
{
	return clv_error_set(err, -ENOENT,
		"there is no history of %s: GET /v1/history has of=lease:ID, device:NAME "
		"or tenant:NAME of those that exist, or did until lately",
		wanted->of);
}

/* Finds a lease by id, or while it exists also by name.  Other tenants' leases are not
 * found. */
static int find_lease(
	struct clv_request *request, struct wanted *wanted, struct clv_error *err)
{
	const struct clv_lease *lease = clv_ledger_find(
		request->agent->ledger, wanted->key.name, &request->caller, NULL);

	if (lease) {
		snprintf(wanted->key.name, sizeof(wanted->key.name), "%s",
			lease->record.id);
		return 0;
	}
	if (!clv_history_has(request->agent->history, &wanted->key) ||
		!clv_caller_sees(&request->caller, wanted->key.owner))
		return fail_unknown(wanted, err);
	return 0;
}

static int find_tenant(
	struct clv_request *request, struct wanted *wanted, struct clv_error *err)
{
	const struct clv_caller *caller = &request->caller;
	bool is_known = clv_history_has(request->agent->history, &wanted->key);
	bool is_own = is_known ? clv_caller_sees(caller, wanted->key.owner)
			       : caller->scope != CLV_SCOPE_TENANT ||
					 strcmp(caller->subject, wanted->key.name) == 0;

	if (!is_own)
		return clv_error_set(err, -EPERM,
			"a tenant sees only its own history: ask for that of its leases, "
			"or with a token of an admin or viewer");
	return is_known ? 0 : fail_unknown(wanted, err);
}

static int find_device(
	struct clv_request *request, struct wanted *wanted, struct clv_error *err)
{
	const struct clv_agent_device *device =
		clv_devices_find(request->agent->devices, wanted->key.name);
	bool is_part = wanted->key.kind == CLV_HISTORY_PARTITION;

	if (device && is_part == (device->parent != NULL)) {
		snprintf(wanted->key.name, sizeof(wanted->key.name), "%s",
			device->info.name);
		return 0;
	}
	return clv_history_has(request->agent->history, &wanted->key)
		       ? 0
		       : fail_unknown(wanted, err);
}

static int read_of(
	struct clv_request *request, struct wanted *wanted, struct clv_error *err)
{
	const char *colon = wanted->of ? strchr(wanted->of, ':') : NULL;
	enum clv_history_kind kind = colon ? clv_history_kind_from_string(wanted->of,
						     (size_t)(colon - wanted->of))
					   : _CLV_HISTORY_KIND_INVALID;

	if (kind < 0 || colon[1] == '\0')
		return clv_error_set(err, -EINVAL,
			"of must be device:NAME, partition:NAME, lease:ID or "
			"tenant:NAME");
	wanted->key.kind = (uint32_t)kind;
	if (strlen(colon + 1) >= sizeof(wanted->key.name))
		return fail_unknown(wanted, err);
	snprintf(wanted->key.name, sizeof(wanted->key.name), "%s", colon + 1);
	if (kind == CLV_HISTORY_LEASE)
		return find_lease(request, wanted, err);
	return kind == CLV_HISTORY_TENANT ? find_tenant(request, wanted, err)
					  : find_device(request, wanted, err);
}

static int read_step(
	struct clv_request *request, struct wanted *wanted, struct clv_error *err)
{
	const char *text = clv_request_argument(request, "resolution");

	wanted->step = CLV_HISTORY_SECOND;
	if (text && strcmp(text, "minute") == 0)
		wanted->step = CLV_HISTORY_MINUTE;
	else if (text && strcmp(text, "second") != 0)
		return clv_error_set(
			err, -EINVAL, "resolution must be \"second\" or \"minute\"");
	return 0;
}

static int read_time(struct clv_request *request, const char *name, int64_t otherwise,
	int64_t *ret, struct clv_error *err)
{
	const char *text = clv_request_argument(request, name);

	*ret = otherwise;
	if (text && clv_clock_parse_rfc3339(text, ret) < 0)
		return clv_error_set(err, -EINVAL,
			"%s must be a time like 2026-01-31T12:00:00Z", name);
	return 0;
}

/* Reads from and to, limited to the past and to what is kept. */
static int read_times(
	struct clv_request *request, struct wanted *wanted, struct clv_error *err)
{
	bool is_minutes = wanted->step == CLV_HISTORY_MINUTE;
	int64_t now = (int64_t)(clv_clock_real_ns() / CLV_NS_PER_S);
	int64_t oldest =
		now - (is_minutes ? CLV_HISTORY_MINUTES_KEPT : CLV_HISTORY_SECONDS_KEPT);
	int r = read_time(request, "to", now, &wanted->to, err);

	if (r >= 0)
		r = read_time(request, "from",
			wanted->to - (is_minutes ? DEFAULT_MINUTES : DEFAULT_SECONDS),
			&wanted->from, err);
	if (r >= 0 && wanted->from >= wanted->to)
		r = clv_error_set(err, -EINVAL, "from must be before to");
	if (wanted->to > now)
		wanted->to = now;
	if (wanted->from < oldest)
		wanted->from = oldest;
	wanted->from = clv_history_floor(wanted->from, wanted->step);
	return r;
}

/* Writing. */

static void write_number(FILE *out, uint64_t value, uint32_t parts)
{
	if (parts == 1)
		fprintf(out, "%" PRIu64, value);
	else if (value % parts == 0)
		fprintf(out, "%" PRIu64, value / parts);
	else
		fprintf(out, "%" PRIu64 ".%0*" PRIu64, value / parts,
			parts == 10000 ? 4 : 6, value % parts);
}

static void write_row(FILE *out, const struct clv_history_row *row)
{
	for (unsigned int i = 0; i < _CLV_HISTORY_COLUMN_MAX; i++) {
		putc_unlocked(i ? ',' : '[', out);
		write_number(out, row->values[i], clv_history_columns[i].parts);
	}
	putc_unlocked(']', out);
}

static void write_head(FILE *out, const struct wanted *wanted)
{
	char from[32], to[32];
	json_t *of = json_string(wanted->of);
	char *quoted = json_dumps(of, JSON_ENCODE_ANY);

	json_decref(of);
	clv_clock_format_rfc3339((uint64_t)wanted->from * CLV_NS_PER_S, from);
	clv_clock_format_rfc3339((uint64_t)wanted->to * CLV_NS_PER_S, to);
	fprintf(out,
		"{\"of\":%s,\"resolution\":%u,\"from\":\"%s\",\"to\":\"%s\",\"start\":"
		"%" PRId64 ",\"step\":%u,\"columns\":[",
		quoted ? quoted : "\"\"", wanted->step, from, to, wanted->from,
		wanted->step);
	free(quoted);
	for (unsigned int i = 0; i < _CLV_HISTORY_COLUMN_MAX; i++)
		fprintf(out, "%s\"%s\"", i ? "," : "", clv_history_columns[i].name);
}

static int answer(
	struct clv_request *request, const struct wanted *wanted, struct clv_error *err)
{
	size_t n = wanted->to > wanted->from
			   ? (size_t)((wanted->to - wanted->from - 1) / wanted->step) + 1
			   : 0;
	_cleanup_free_ struct clv_history_row *rows = calloc(n + 1, sizeof(*rows));
	_cleanup_free_ bool *has_row = calloc(n + 1, sizeof(*has_row));
	FILE *out = open_memstream(&request->text, &request->n_bytes);
	int r;

	if (!out || !rows || !has_row) {
		if (out)
			fclose(out);
		return clv_error_errno(err, ENOMEM, "cannot show the history");
	}
	r = clv_history_rows(request->agent->history, &wanted->key, wanted->step,
		wanted->from, n, rows, has_row, err);
	write_head(out, wanted);
	fputs("],\"rows\":[", out);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		if (i > 0)
			putc_unlocked(',', out);
		if (has_row[i])
			write_row(out, &rows[i]);
		else
			fputs("null", out);
	}
	fputs("]}", out);
	if (fclose(out) != 0 && r >= 0)
		r = clv_error_errno(err, ENOMEM, "cannot show the history");
	return r;
}

int clv_api_get_history(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct wanted wanted = {.of = clv_request_argument(request, "of")};
	int r = read_step(request, &wanted, err);

	if (r >= 0)
		r = read_times(request, &wanted, err);
	if (r >= 0)
		r = read_of(request, &wanted, err);
	if (r >= 0)
		r = answer(request, &wanted, err);
	request->status = 200;
	request->content_type = "application/json";
	return r;
}
