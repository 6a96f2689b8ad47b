/* SPDX-License-Identifier: Apache-2.0 */
/* Totals are sums of differences from second to second, because the counters of a lease
 * end with it, and those of an adopted lease begin at its stored totals. */
#include "agent/history/usage.h"

#include "agent/device/devices.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/standing.h"
#include "agent/record/agent.h"
#include "arbiter/arbiter.h"
#include "base/clock.h"
#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_ONE 10000u /* a rate of 1, as clv_history_columns stores it */

struct clv_usage_book {
	struct clv_agent *agent;
	struct clv_usage_tenant *tenants[CLV_USAGE_TENANTS_MAX];
	size_t n_tenants;
};

struct clv_usage_book *clv_usage_new(struct clv_agent *agent)
{
	struct clv_usage_book *book = calloc(1, sizeof(*book));

	if (book)
		book->agent = agent;
	return book;
}

struct clv_usage_book *clv_usage_free(struct clv_usage_book *book)
{
	for (size_t i = 0; book && i < book->n_tenants; i++)
		free(book->tenants[i]);
	free(book);
	return NULL;
}

static struct clv_usage_tenant *tenant_of(
	struct clv_usage_book *book, const struct clv_lease *lease)
{
	struct clv_usage_tenant *tenant;

	for (size_t i = 0; i < book->n_tenants; i++) {
		if (book->tenants[i]->uid == lease->owner)
			return book->tenants[i];
	}
	if (book->n_tenants == CLV_USAGE_TENANTS_MAX)
		return NULL;
	tenant = calloc(1, sizeof(*tenant));
	if (!tenant)
		return NULL;
	tenant->uid = lease->owner;
	snprintf(tenant->name, sizeof(tenant->name), "%s", lease->record.tenant);
	book->tenants[book->n_tenants++] = tenant;
	return tenant;
}

static void clear(struct clv_usage *usage)
{
	usage->now = (struct clv_history_row){0};
	usage->n_leases = usage->n_queued = 0;
}

void clv_usage_begin(struct clv_usage_book *book)
{
	struct clv_agent *agent = book->agent;

	for (size_t i = 0; i < book->n_tenants; i++)
		clear(&book->tenants[i]->usage);
	for (size_t i = 0; i < clv_devices_count(agent->devices); i++) {
		struct clv_agent_device *device = clv_devices_at(agent->devices, i);
		struct clv_promised standing = {0};

		clear(&device->usage);
		clv_standing_add_promised(agent->standing, device, "", &standing);
		device->usage.now.values[CLV_HISTORY_SHARE_PROMISED] =
			standing.compute_ppm;
		device->usage.now.values[CLV_HISTORY_MEMORY_QUOTA] =
			standing.memory_bytes;
	}
}

static void save_idle(const struct clv_usage *usage, struct clv_usage_idle *idle)
{
	idle->row = usage->now;
	idle->n_leases = usage->n_leases;
	idle->n_queued = usage->n_queued;
}

static void restore_idle(struct clv_usage *usage, const struct clv_usage_idle *idle)
{
	usage->now = idle->row;
	usage->n_leases = idle->n_leases;
	usage->n_queued = idle->n_queued;
}

void clv_usage_save_idle(struct clv_usage_book *book)
{
	struct clv_devices *devices = book->agent->devices;

	for (size_t i = 0; i < book->n_tenants; i++)
		save_idle(&book->tenants[i]->usage, &book->tenants[i]->idle);
	for (size_t i = 0; i < clv_devices_count(devices); i++) {
		struct clv_agent_device *device = clv_devices_at(devices, i);

		save_idle(&device->usage, &device->idle);
	}
}

void clv_usage_begin_from_saved(struct clv_usage_book *book)
{
	struct clv_devices *devices = book->agent->devices;

	for (size_t i = 0; i < book->n_tenants; i++)
		restore_idle(&book->tenants[i]->usage, &book->tenants[i]->idle);
	for (size_t i = 0; i < clv_devices_count(devices); i++) {
		struct clv_agent_device *device = clv_devices_at(devices, i);

		restore_idle(&device->usage, &device->idle);
	}
}

/* What the lease has counted since this agent's start or adoption. */
static void read_counts(const struct clv_lease *lease,
	const struct clv_arbiter_sample *sample, uint64_t ret[_CLV_USAGE_MAX])
{
	const struct clv_lease_record *before = &lease->record;

	ret[CLV_USAGE_HELD_NS] = sample->held_ns - before->held_ns;
	ret[CLV_USAGE_THROTTLED_NS] = sample->throttled_ns - before->throttled_ns;
	ret[CLV_USAGE_WAITING_NS] = sample->waiting_ns;
	ret[CLV_USAGE_TURNS] = sample->turns - before->turns;
	ret[CLV_USAGE_REVOCATIONS] = sample->revocations - before->revocations;
	ret[CLV_USAGE_OVERDUE] = sample->overdue - before->overdue;
	ret[CLV_USAGE_REFUSED] = sample->refused;
	ret[CLV_USAGE_WAIT_SUM_NS] = sample->waits.sum_ns;
	memcpy(&ret[CLV_USAGE_WAITS], sample->waits.counts, sizeof(sample->waits.counts));
}

/* The number of refusals shrinks when a process ends: that is no growth. */
static void take_growth(const struct clv_lease *lease,
	const struct clv_arbiter_sample *sample, uint64_t seen[_CLV_USAGE_MAX],
	uint64_t ret[_CLV_USAGE_MAX])
{
	uint64_t now[_CLV_USAGE_MAX];

	read_counts(lease, sample, now);
	for (unsigned int i = 0; i < _CLV_USAGE_MAX; i++) {
		ret[i] = now[i] > seen[i] ? now[i] - seen[i] : 0;
		seen[i] = now[i];
	}
}

static void add_counts(struct clv_usage *usage, const uint64_t growth[_CLV_USAGE_MAX])
{
	for (unsigned int i = 0; usage && i < _CLV_USAGE_MAX; i++)
		usage->counts[i] += growth[i];
}

static void add_row(struct clv_usage *usage, const struct clv_history_row *row)
{
	for (unsigned int i = 0; usage && i < _CLV_HISTORY_MEANS; i++)
		usage->now.values[i] += row->values[i];
}

static uint64_t rate(uint64_t part_ns, uint64_t of_ns)
{
	if (of_ns == 0)
		return 0;
	return part_ns >= of_ns ? RATE_ONE : part_ns * RATE_ONE / of_ns;
}

static void make_row(struct clv_lease *lease, const struct clv_arbiter_sample *sample,
	const uint64_t growth[_CLV_USAGE_MAX], uint64_t took_ns)
{
	const struct clv_share *share = &lease->record.share;

	lease->usage.usage.now = (struct clv_history_row){
		.values = {
			[CLV_HISTORY_SHARE_USED] =
				rate(growth[CLV_USAGE_HELD_NS], took_ns),
			[CLV_HISTORY_SHARE_PROMISED] = share->compute_ppm,
			[CLV_HISTORY_MEMORY_USED] = sample->memory_used_bytes,
			[CLV_HISTORY_MEMORY_QUOTA] = share->memory_bytes,
			[CLV_HISTORY_WAITING] =
				rate(growth[CLV_USAGE_WAITING_NS], took_ns),
			[CLV_HISTORY_THROTTLED] =
				rate(growth[CLV_USAGE_THROTTLED_NS], took_ns),
		}};
}

/* Usage and waiting are known of the first of several devices; promises are on each. */
static void add_to_devices(struct clv_lease *lease, const struct clv_history_row *row)
{
	struct clv_history_row promise = {
		.values = {
			[CLV_HISTORY_SHARE_PROMISED] =
				row->values[CLV_HISTORY_SHARE_PROMISED],
			[CLV_HISTORY_MEMORY_QUOTA] =
				row->values[CLV_HISTORY_MEMORY_QUOTA],
		}};
	struct clv_agent_device *device;

	for (size_t i = 0; (device = clv_lease_device(lease, i)); i++) {
		device->usage.n_queued += lease->record.is_queued;
		device->usage.n_leases += !lease->record.is_queued;
		if (!lease->record.is_queued)
			add_row(&device->usage, i == 0 ? row : &promise);
	}
}

static void add_to_tenant(struct clv_usage *usage, const struct clv_lease *lease,
	const struct clv_history_row *row)
{
	struct clv_history_row sum = *row;

	sum.values[CLV_HISTORY_SHARE_PROMISED] *= lease->n_others + 1;
	sum.values[CLV_HISTORY_MEMORY_QUOTA] *= lease->n_others + 1;
	usage->n_queued += lease->record.is_queued;
	usage->n_leases += !lease->record.is_queued;
	if (!lease->record.is_queued)
		add_row(usage, &sum);
}

/* Adds the growth of the counters.  Returns the time since the last sample; 0: none. */
static uint64_t count(struct clv_usage_book *book, struct clv_lease *lease,
	const struct clv_arbiter_sample *sample, uint64_t ret_growth[_CLV_USAGE_MAX])
{
	struct clv_lease_usage *usage = &lease->usage;
	uint64_t now_ns = clv_clock_ns(), since_ns = usage->seen_ns;

	if (!usage->tenant)
		usage->tenant = tenant_of(book, lease);
	take_growth(lease, sample, usage->seen, ret_growth);
	add_counts(&usage->usage, ret_growth);
	add_counts(&lease->device->usage, ret_growth);
	add_counts(usage->tenant ? &usage->tenant->usage : NULL, ret_growth);
	usage->seen_ns = now_ns;
	return since_ns ? now_ns - since_ns : 0;
}

void clv_usage_add(struct clv_usage_book *book, struct clv_lease *lease,
	const struct clv_arbiter_sample *sample)
{
	struct clv_lease_usage *usage = &lease->usage;
	uint64_t growth[_CLV_USAGE_MAX];
	uint64_t took_ns = count(book, lease, sample, growth);

	make_row(lease, sample, growth, took_ns);
	usage->lag_ns = sample->lag_ns;
	add_to_devices(lease, &usage->usage.now);
	if (usage->tenant)
		add_to_tenant(&usage->tenant->usage, lease, &usage->usage.now);
}

/* Its counters have not changed since it was created or adopted. */
void clv_usage_add_idle(struct clv_usage_book *book, struct clv_lease *lease)
{
	const struct clv_share *share = &lease->record.share;
	struct clv_lease_usage *usage = &lease->usage;

	if (!usage->tenant)
		usage->tenant = tenant_of(book, lease);
	usage->usage.now = (struct clv_history_row){
		.values = {
			[CLV_HISTORY_SHARE_PROMISED] = share->compute_ppm,
			[CLV_HISTORY_MEMORY_QUOTA] = share->memory_bytes,
		}};
	add_to_devices(lease, &usage->usage.now);
	if (usage->tenant)
		add_to_tenant(&usage->tenant->usage, lease, &usage->usage.now);
}

void clv_usage_end(struct clv_usage_book *book, struct clv_lease *lease)
{
	struct clv_arbiter_sample sample;
	uint64_t growth[_CLV_USAGE_MAX];

	if (!book || !lease->arbiter_lease)
		return;
	clv_lease_sample(lease, &sample);
	count(book, lease, &sample, growth);
}

struct clv_usage_tenant *clv_usage_tenant_at(const struct clv_usage_book *book, size_t at)
{
	return at < book->n_tenants ? book->tenants[at] : NULL;
}
