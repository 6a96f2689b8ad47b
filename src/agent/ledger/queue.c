/* SPDX-License-Identifier: Apache-2.0 */
/* Any tenant may queue many leases, so the order of all is computed in one pass: a loop
 * over the leases for what each tenant has, one for what each would have, and for
 * positions a sort. */
#include "agent/ledger/queue.h"

#include "agent/device/devices.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/tenants.h"
#include "agent/record/agent.h"
#include "base/array.h"
#include "base/clock.h"

#include <assert.h>
#include <stdlib.h>

/* What one account has, mostly one tenant. */
struct account {
	uid_t number; /* clv_owner_account() */
	/* Active leases, and queued ones that are older than the current one. */
	uint64_t sum_ppm;
	struct clv_allowance_use use;
	struct clv_allowance allowance;
	bool has_allowance;
};

struct accounts {
	struct account *items;
	size_t n;
};

/* Finds or adds an account; NULL without memory. */
static struct account *find_account(struct accounts *accounts, uid_t number)
{
	struct account *account;

	for (size_t i = 0; i < accounts->n; i++) {
		if (accounts->items[i].number == number)
			return &accounts->items[i];
	}
	account = CLV_APPEND(accounts->items, accounts->n);
	if (account)
		account->number = number;
	return account;
}

/* The compute that the lease is promised, of all its devices together. */
static uint64_t compute_of(const struct clv_lease *lease)
{
	return (uint64_t)clv_share_promise_ppm(&lease->record.share) *
	       (lease->n_others + 1);
}

static void add_active(struct accounts *accounts, const struct clv_lease *lease)
{
	struct account *account =
		lease->record.is_queued ? NULL : find_account(accounts, lease->account);

	if (!account)
		return;
	account->sum_ppm += compute_of(lease);
	clv_tenants_add_use(lease, &account->use);
}

static bool is_allowed(struct account *account, const struct clv_lease *lease)
{
	struct clv_share all = lease->record.share;

	if (!account->has_allowance &&
		clv_tenants_get_allowance(lease->agent, clv_tenant_of_lease(lease),
			&account->allowance) < 0) {
		lease->agent->awaits_users = true;
		return false;
	}
	account->has_allowance = true;
	all.compute_ppm = (uint32_t)compute_of(lease);
	all.memory_bytes *= lease->n_others + 1;
	return clv_allowance_check(&account->allowance, &account->use, &all, "", NULL) >=
	       0;
}

/* Sets what the tenant would have with this lease: its active leases, its older queued
 * ones and this one.  A lease that the allowance does not permit now comes last
 * (UINT64_MAX). */
static void weigh(struct accounts *accounts, struct clv_lease *lease)
{
	struct account *account = find_account(accounts, lease->account);

	lease->queue_key = UINT64_MAX;
	if (!account)
		return;
	account->sum_ppm += compute_of(lease);
	if (is_allowed(account, lease))
		lease->queue_key = account->sum_ppm;
}

/* Sets queue_key of all queued leases; returns their number. */
static size_t weigh_all(struct clv_ledger *ledger)
{
	struct accounts accounts = {0};
	struct clv_lease *lease = TAILQ_FIRST(clv_ledger_leases(ledger));
	size_t n_queued = 0;

	if (!lease || lease->agent->n_queued == 0)
		return 0;
	TAILQ_FOREACH(lease, clv_ledger_leases(ledger), entry)
	add_active(&accounts, lease);
	/* The list is in order of arrival. */
	TAILQ_FOREACH(lease, clv_ledger_leases(ledger), entry)
	{
		if (!lease->record.is_queued)
			continue;
		weigh(&accounts, lease);
		n_queued++;
	}
	free(accounts.items);
	return n_queued;
}

static int compare(const void *a, const void *b)
{
	const struct clv_lease *one = *(struct clv_lease *const *)a;
	const struct clv_lease *other = *(struct clv_lease *const *)b;

	if (one->queue_key != other->queue_key)
		return one->queue_key < other->queue_key ? -1 : 1;
	return one->sequence < other->sequence ? -1 : 1;
}

/* Sets positions, from leases in order: a lease is behind the earlier ones on its first
 * device. */
static void set_positions(
	struct clv_agent *agent, struct clv_lease **queued, size_t n_queued)
{
	struct clv_agent_device *device;

	for (size_t i = 0; i < clv_devices_count(agent->devices); i++)
		clv_devices_at(agent->devices, i)->n_ranked = 0;
	for (size_t i = 0; i < n_queued; i++) {
		queued[i]->position = queued[i]->device->n_ranked + 1;
		for (size_t j = 0; (device = clv_lease_device(queued[i], j)); j++)
			device->n_ranked++;
	}
}

/* All queued leases in order, to be freed; those that have to wait for their tenant's
 * allowance come last. */
static struct clv_lease **sort_all(struct clv_ledger *ledger, size_t *ret_n)
{
	size_t n_queued = weigh_all(ledger);
	struct clv_lease **queued =
		n_queued ? calloc(n_queued, sizeof(struct clv_lease *)) : NULL;
	struct clv_lease *lease;

	*ret_n = 0;
	if (!queued)
		return NULL;
	TAILQ_FOREACH(lease, clv_ledger_leases(ledger), entry)
	{
		if (lease->record.is_queued)
			queued[(*ret_n)++] = lease;
	}
	assert(*ret_n == n_queued);
	qsort(queued, n_queued, sizeof(struct clv_lease *), compare);
	return queued;
}

struct clv_lease **clv_queue_list(struct clv_ledger *ledger, size_t *ret_n)
{
	struct clv_lease **queued = sort_all(ledger, ret_n);

	while (*ret_n > 0 && queued[*ret_n - 1]->queue_key == UINT64_MAX)
		--*ret_n;
	return queued;
}

static void rank(struct clv_ledger *ledger)
{
	size_t n;
	struct clv_lease **queued = sort_all(ledger, &n);

	if (n > 0)
		set_positions(queued[0]->agent, queued, n);
	free(queued);
}

/* An order is kept for a second only, because allowances depend on users' groups, which
 * change without notice. */
static void rank_if_stale(struct clv_agent *agent)
{
	uint64_t now_ns = clv_clock_ns();

	if (agent->ranked_ns != 0 && now_ns - agent->ranked_ns < CLV_NS_PER_S)
		return;
	rank(agent->ledger);
	agent->ranked_ns = now_ns;
}

/* A lease that waits for a standing share takes no room that other leases could have. */
static bool delays_others(const struct clv_lease *lease)
{
	return lease->record.is_queued && lease->queue_key != UINT64_MAX &&
	       lease->record.standing[0] == '\0';
}

uint32_t clv_queue_count(struct clv_agent *agent, const struct clv_agent_device *device)
{
	uint32_t n = 0;

	if (agent->n_queued == 0)
		return 0;
	rank_if_stale(agent);
	for (size_t i = 0; i < device->n_leases; i++)
		n += delays_others(device->leases[i]);
	return n;
}

uint32_t clv_queue_position(const struct clv_lease *lease)
{
	if (!lease->record.is_queued)
		return 0;
	rank_if_stale(lease->agent);
	return lease->position;
}
