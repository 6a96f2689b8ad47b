/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/advice: applies core/share/advise.h to the history of leases.  A lease is read
 * once for an answer, however often others are compared with it; the number of leases is
 * bounded, because reading an hour of seconds of a busy lease takes a fraction of a
 * millisecond. */
#include "agent/api/handler/api.h"
#include "agent/device/devices.h"
#include "agent/device/hardware.h"
#include "agent/history/history-file.h"
#include "agent/history/history.h"
#include "agent/layout/profiles.h"
#include "agent/ledger/holders.h"
#include "agent/ledger/ledger.h"
#include "agent/record/agent.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "core/share/advise-together.h"
#include "core/share/advise.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 20u
#define OTHERS_MAX 32u
#define RATE_TO_PPM (CLV_PPM / 10000u)
#define PROFILES_MAX 64u

struct observed {
	const struct clv_lease *lease;
	struct clv_advise_lease seen;
};

/* What is proposed for the leases of a device, so that all of it fits. */
struct together {
	const struct clv_agent_device *device;
	const struct clv_lease *leases[OTHERS_MAX];
	struct clv_advise_part has[OTHERS_MAX], proposed[OTHERS_MAX];
	size_t n;
};

struct advice {
	struct clv_request *request;
	struct observed *items;
	size_t n;
	struct together *devices;
	size_t n_devices;
	struct clv_history_row *rows;
	bool *has_row;
};

/* Adds the compute that the lease wanted in a second: what it used and, if that was all
 * of its share or its cap stopped it, the time that it waited.  A lease that used less
 * had all it wanted, only later. */
static void add_second(struct clv_advise_use *use, const struct clv_history_row *row)
{
	uint32_t used = (uint32_t)row->values[CLV_HISTORY_SHARE_USED] * RATE_TO_PPM;
	uint32_t waiting = (uint32_t)row->values[CLV_HISTORY_WAITING] * RATE_TO_PPM;
	uint64_t share = row->values[CLV_HISTORY_SHARE_PROMISED];
	bool is_full = (uint64_t)used * 100 >= share * CLV_ADVISE_FULL_PERCENT ||
		       row->values[CLV_HISTORY_THROTTLED] > 0;
	uint32_t wanted = is_full ? used + waiting : used;

	use->wanted_ppm[use->n++] = wanted < CLV_PPM ? wanted : CLV_PPM;
}

static int compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

/* Half of the observed seconds used at most this much. */
static uint64_t median(uint64_t *bytes, size_t n)
{
	if (n == 0)
		return 0;
	qsort(bytes, n, sizeof(*bytes), compare);
	return bytes[n / 2];
}

/* Seconds without a row, before its programs attached, do not count. */
static void sum_up(const struct advice *advice, size_t n, uint64_t *bytes,
	struct clv_advise_use *use)
{
	uint64_t sums[_CLV_HISTORY_COLUMN_MAX] = {0};

	for (size_t i = 0; i < n; i++) {
		const struct clv_history_row *row = &advice->rows[i];
		uint64_t memory = row->values[CLV_HISTORY_MEMORY_USED];

		if (!advice->has_row[i])
			continue;
		bytes[use->n] = memory;
		if (memory > use->memory_peak_bytes)
			use->memory_peak_bytes = memory;
		for (unsigned int k = 0; k < _CLV_HISTORY_COLUMN_MAX; k++)
			sums[k] += row->values[k];
		add_second(use, row);
	}
	if (use->n == 0)
		return;
	use->used_ppm = (uint32_t)(sums[CLV_HISTORY_SHARE_USED] * RATE_TO_PPM / use->n);
	use->waiting_ppm = (uint32_t)(sums[CLV_HISTORY_WAITING] * RATE_TO_PPM / use->n);
	use->throttled_ppm =
		(uint32_t)(sums[CLV_HISTORY_THROTTLED] * RATE_TO_PPM / use->n);
	use->memory_steady_bytes = median(bytes, use->n);
	clv_advise_sort(use);
}

static uint64_t count_refused(const struct clv_lease *lease)
{
	uint64_t all = lease->usage.usage.counts[CLV_USAGE_REFUSED];

	return all > lease->refused_before ? all - lease->refused_before : 0;
}

static int observe(struct advice *advice, const struct clv_lease *lease,
	struct observed *ret, struct clv_error *err)
{
	struct clv_history_key key = {.kind = CLV_HISTORY_LEASE, .owner = lease->owner};
	const struct clv_share *share = &lease->record.share;
	int64_t now = (int64_t)(clv_clock_real_ns() / CLV_NS_PER_S);
	_cleanup_free_ uint64_t *bytes = calloc(CLV_HISTORY_SECONDS_KEPT, sizeof(*bytes));
	int r;

	*ret = (struct observed){.lease = lease,
		.seen = {
			.has = {.share_ppm = share->compute_ppm,
				.cap_ppm = share->cap_ppm,
				.memory_bytes = share->memory_bytes,
				.class = share->class},
			.has_range = share->range.most_ppm > 0,
			.use.n_refused = count_refused(lease),
		}};
	ret->seen.use.wanted_ppm =
		calloc(CLV_HISTORY_SECONDS_KEPT, sizeof(*ret->seen.use.wanted_ppm));
	if (!bytes || !ret->seen.use.wanted_ppm)
		return clv_error_errno(err, ENOMEM, "cannot read the history");
	snprintf(ret->seen.has.profile, sizeof(ret->seen.has.profile), "%s",
		lease->device->info.profile);
	snprintf(key.name, sizeof(key.name), "%s", lease->record.id);
	r = clv_history_rows(advice->request->agent->history, &key, CLV_HISTORY_SECOND,
		now - CLV_HISTORY_SECONDS_KEPT, CLV_HISTORY_SECONDS_KEPT, advice->rows,
		advice->has_row, err);
	if (r < 0)
		return r;
	sum_up(advice, CLV_HISTORY_SECONDS_KEPT, bytes, &ret->seen.use);
	ret->seen.observed_s = (uint32_t)ret->seen.use.n;
	return 0;
}

/* Finds the lease's observation or makes it; NULL on error. */
static const struct observed *find_or_observe(
	struct advice *advice, const struct clv_lease *lease, struct clv_error *err)
{
	struct observed observed, *item;

	for (size_t i = 0; i < advice->n; i++) {
		if (advice->items[i].lease == lease)
			return &advice->items[i];
	}
	if (observe(advice, lease, &observed, err) < 0) {
		free(observed.seen.use.wanted_ppm);
		return NULL;
	}
	item = CLV_APPEND(advice->items, advice->n);
	if (!item) {
		free(observed.seen.use.wanted_ppm);
		return NULL;
	}
	*item = observed;
	return item;
}

/* The device's profiles, without sets of processors, which do not isolate memory. */
static size_t read_profiles(const struct clv_agent *agent,
	const struct clv_agent_device *device, struct clv_advise_profile *ret)
{
	const struct clv_node *node = clv_holders_node(agent);
	const struct clv_node_device *info = clv_node_find(node, device->info.name);
	json_t *items = json_array(), *item;
	json_int_t whole = device->info.compute_units;
	size_t n = 0, i;

	if (info)
		clv_profiles_add(info, items);
	json_array_foreach (items, i, item) {
		json_int_t units =
			json_integer_value(json_object_get(item, "compute_units"));

		if (units > whole)
			whole = units;
	}
	json_array_foreach (items, i, item) {
		json_int_t units =
			json_integer_value(json_object_get(item, "compute_units"));

		if (n == PROFILES_MAX || units == 0 || whole == 0 ||
			strcmp(json_string_value(json_object_get(item, "scheme")),
				"cores") == 0)
			continue;
		ret[n] = (struct clv_advise_profile){
			.compute_ppm =
				(uint32_t)((uint64_t)units * CLV_PPM / (uint64_t)whole),
			.memory_bytes = (uint64_t)json_integer_value(
				json_object_get(item, "memory_bytes")),
		};
		snprintf(ret[n].name, sizeof(ret[n].name), "%s",
			json_string_value(json_object_get(item, "profile")));
		n++;
	}
	json_decref(items);
	return n;
}

static json_t *part_to_json(const struct clv_advise_part *part, bool is_proposed)
{
	json_t *object =
		json_pack("{s:f,s:I,s:s}", "share", (double)part->share_ppm / CLV_PPM,
			"memory_bytes", (json_int_t)part->memory_bytes, "class",
			clv_class_to_string(part->class));

	if (part->cap_ppm > 0)
		json_object_set_new(
			object, "cap", json_real((double)part->cap_ppm / CLV_PPM));
	if (is_proposed)
		json_object_set_new(object, "profile",
			part->profile[0] ? json_string(part->profile) : json_null());
	return object;
}

static json_t *to_json(const struct observed *observed, const struct clv_advice *advice)
{
	const struct clv_lease_record *record = &observed->lease->record;
	json_t *name = json_string(record->tenant);

	return json_pack("{s:s,s:s,s:o,s:s,s:s,s:s,s:o,s:o,s:f,s:s,s:I}", "lease",
		record->id, "name", record->name, "tenant", name ? name : json_string(""),
		"device", observed->lease->device->info.name, "kind",
		clv_advice_kind_to_string(advice->kind), "text", advice->text, "current",
		part_to_json(&observed->seen.has, false), "proposed",
		part_to_json(&advice->proposed, true), "expected_slowdown",
		advice->slowdown, "confidence",
		clv_advise_confidence(observed->seen.observed_s), "observed_seconds",
		(json_int_t)observed->seen.observed_s);
}

/* Looks for an idle lease among the other leases of the device, up to OTHERS_MAX. Returns
 * its index in leases, or SIZE_MAX. */
static size_t find_idle(struct advice *advice, const struct clv_lease *lease,
	const struct clv_lease **leases, struct clv_advise_lease *seen,
	struct clv_error *err)
{
	const struct clv_advise_lease *others[OTHERS_MAX];
	const struct clv_agent_device *device = lease->device;
	const struct observed *self;
	size_t n = 0, at;

	for (size_t i = 0; i < device->n_leases && n < OTHERS_MAX; i++) {
		const struct observed *other;

		if (device->leases[i] == lease || device->leases[i]->record.is_queued)
			continue;
		other = find_or_observe(advice, device->leases[i], err);
		leases[n] = device->leases[i];
		if (other)
			seen[n] = other->seen;
		others[n] = other ? &seen[n] : NULL;
		n++;
	}
	self = find_or_observe(advice, lease, err);
	at = self ? clv_advise_find_idle(&self->seen, others, n) : n;
	return at < n ? at : SIZE_MAX;
}

/* Replaces "too small" by advice on the split, if another lease of the device is idle. */
static void check_split(struct advice *advice, const struct clv_lease *lease,
	const struct clv_advise_device *device, struct clv_advice *ret,
	struct clv_error *err)
{
	const struct clv_lease *leases[OTHERS_MAX];
	struct clv_advise_lease seen[OTHERS_MAX];
	size_t at = find_idle(advice, lease, leases, seen, err);
	const struct observed *self = find_or_observe(advice, lease, err);
	bool is_known;

	if (at == SIZE_MAX || !self)
		return;
	/* The name of another tenant's lease is not shown. */
	is_known = clv_caller_sees(&advice->request->caller, leases[at]->owner);
	clv_advise_split(&self->seen, &seen[at],
		is_known ? leases[at]->record.name : "another lease", device, ret);
}

static bool is_resize(enum clv_advice_kind kind)
{
	return kind == CLV_ADVICE_TOO_SMALL || kind == CLV_ADVICE_TOO_LARGE ||
	       kind == CLV_ADVICE_IMBALANCED;
}

/* Adds the lease with what is proposed for it alone. */
static void add_claim(struct advice *advice, const struct clv_lease *lease,
	const struct clv_advise_device *about, struct together *to, struct clv_error *err)
{
	const struct observed *observed = find_or_observe(advice, lease, err);
	struct clv_advise_part *proposed = &to->proposed[to->n];
	struct clv_advice found[CLV_ADVICES_MAX];
	size_t n;

	if (!observed)
		return;
	*proposed = to->has[to->n] = observed->seen.has;
	n = clv_advise_lease(&observed->seen, about, found);
	for (size_t i = 0; i < n; i++) {
		if (!is_resize(found[i].kind))
			continue;
		proposed->share_ppm = found[i].proposed.share_ppm;
		proposed->memory_bytes = found[i].proposed.memory_bytes;
		break;
	}
	to->leases[to->n++] = lease;
}

static void fit(struct together *together, uint32_t free_ppm, uint64_t free_bytes)
{
	struct clv_advise_claim claims[OTHERS_MAX];

	for (size_t i = 0; i < together->n; i++)
		claims[i] = (struct clv_advise_claim){
			&together->has[i], &together->proposed[i]};
	clv_advise_fit_together(claims, together->n, free_ppm, free_bytes);
}

/* The proposals for the leases of the device, up to OTHERS_MAX; NULL on error. */
static const struct together *find_together(struct advice *advice,
	const struct clv_agent_device *device, const struct clv_advise_device *about,
	struct clv_error *err)
{
	uint64_t ppm = 0, bytes = 0, memory = device->info.memory_bytes;
	struct together *together;

	for (size_t i = 0; i < advice->n_devices; i++) {
		if (advice->devices[i].device == device)
			return &advice->devices[i];
	}
	together = CLV_APPEND(advice->devices, advice->n_devices);
	if (!together)
		return NULL;
	*together = (struct together){.device = device};
	for (size_t i = 0; i < device->n_leases; i++) {
		const struct clv_lease *lease = device->leases[i];

		if (lease->record.is_queued)
			continue;
		ppm += lease->record.share.compute_ppm;
		bytes += lease->record.share.memory_bytes;
		if (together->n < OTHERS_MAX)
			add_claim(advice, lease, about, together, err);
	}
	fit(together, ppm < CLV_PPM ? (uint32_t)(CLV_PPM - ppm) : 0,
		bytes < memory ? memory - bytes : 0);
	return together;
}

static void say_no_room(struct clv_advice *advice, const char *device)
{
	size_t used = strlen(advice->text);

	snprintf(advice->text + used, sizeof(advice->text) - used,
		"; %.40s has no room for more: begin it anew on another device", device);
}

/* Reduces a proposal to what fits beside the proposals for the other leases. */
static void fit_together(struct advice *advice, const struct clv_lease *lease,
	const struct clv_advise_device *about, struct clv_advice *ret,
	struct clv_error *err)
{
	const struct together *together =
		find_together(advice, lease->device, about, err);
	const struct observed *observed = find_or_observe(advice, lease, err);
	size_t at = 0;

	while (together && at < together->n && together->leases[at] != lease)
		at++;
	if (!together || !observed || at == together->n)
		return;
	ret->proposed.share_ppm = together->proposed[at].share_ppm;
	ret->proposed.memory_bytes = together->proposed[at].memory_bytes;
	ret->slowdown = clv_advise_slowdown(&observed->seen.use, ret->proposed.share_ppm);
	if (ret->kind != CLV_ADVICE_TOO_LARGE &&
		ret->proposed.cap_ppm == observed->seen.has.cap_ppm &&
		ret->proposed.share_ppm == observed->seen.has.share_ppm &&
		ret->proposed.memory_bytes == observed->seen.has.memory_bytes)
		say_no_room(ret, about->name);
}

static void advise(struct advice *advice, const struct clv_lease *lease, json_t *items,
	struct clv_error *err)
{
	struct clv_advise_profile profiles[PROFILES_MAX];
	struct clv_advise_device device = {
		.memory_bytes = lease->device->info.memory_bytes, .profiles = profiles};
	struct clv_advice found[CLV_ADVICES_MAX];
	const struct observed *observed = find_or_observe(advice, lease, err);
	size_t n;

	if (!observed || observed->seen.observed_s < CLV_ADVISE_OBSERVED_S)
		return;
	snprintf(device.name, sizeof(device.name), "%s", lease->device->info.name);
	device.n_profiles =
		read_profiles(advice->request->agent, lease->device, profiles);
	n = clv_advise_lease(&observed->seen, &device, found);
	for (size_t i = 0; i < n; i++) {
		if (found[i].kind == CLV_ADVICE_TOO_SMALL)
			check_split(advice, lease, &device, &found[i], err);
		if (is_resize(found[i].kind))
			fit_together(advice, lease, &device, &found[i], err);
		observed = find_or_observe(advice, lease, err);
		if (observed)
			json_array_append_new(items, to_json(observed, &found[i]));
	}
}

static uint64_t advise_all(struct advice *advice, const struct clv_page *page,
	json_t *items, struct clv_error *err)
{
	const struct clv_lease *lease;
	uint64_t last = 0, n = 0;

	TAILQ_FOREACH(lease, clv_ledger_leases(advice->request->agent->ledger), entry)
	{
		/* A lease without an attached process has no use to observe. */
		if (lease->sequence <= page->after || lease->record.is_queued ||
			!lease->arbiter_lease ||
			!clv_caller_sees(&advice->request->caller, lease->owner))
			continue;
		if (n++ == page->limit)
			return last;
		last = lease->sequence;
		advise(advice, lease, items, err);
	}
	return 0;
}

static int begin(struct advice *advice, struct clv_error *err)
{
	advice->rows = calloc(CLV_HISTORY_SECONDS_KEPT, sizeof(*advice->rows));
	advice->has_row = calloc(CLV_HISTORY_SECONDS_KEPT, sizeof(*advice->has_row));
	return advice->rows && advice->has_row
		       ? 0
		       : clv_error_errno(err, ENOMEM, "cannot read the history");
}

static void end(struct advice *advice)
{
	for (size_t i = 0; i < advice->n; i++)
		free(advice->items[i].seen.use.wanted_ppm);
	free(advice->items);
	free(advice->devices);
	free(advice->rows);
	free(advice->has_row);
}

int clv_api_get_advice(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	const char *name = clv_request_argument(request, "lease");
	const struct clv_lease *lease = NULL;
	struct advice advice = {.request = request};
	struct clv_error why = {0};
	json_t *items = json_array();
	struct clv_page page;
	uint64_t next = 0;
	int r = clv_api_get_page(request, PAGE, &page, err);

	if (r >= 0 && name) {
		lease = clv_ledger_find(
			request->agent->ledger, name, &request->caller, err);
		r = lease ? 0 : err->code;
	}
	if (r >= 0)
		r = begin(&advice, err);
	if (r >= 0 && lease)
		advise(&advice, lease, items, &why);
	else if (r >= 0)
		next = advise_all(&advice, &page, items, &why);
	end(&advice);
	if (r < 0) {
		json_decref(items);
		return r;
	}
	request->status = 200;
	request->answer = clv_api_list(items, next);
	return 0;
}
