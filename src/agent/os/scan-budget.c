/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/scan-budget.h"

#include "agent/os/maps.h"
#include "base/clock.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Slow scans take at most this part of the time.  The first ones take more, because most
 * processes that are slow once are fast at the next scan. */
#define PART 100
#define FIRST_PART 20
#define RECENT_NS (60 * CLV_NS_PER_S)
/* For this time a lease, the other leases of its tenant, and later ones of the tenant are
 * taken to be slow. */
#define KEPT_NS (600 * CLV_NS_PER_S)

/* ret_n_slow: the number of used entries. */
static bool is_slow(const struct clv_scan_group *group, const char *name, uint64_t now_ns,
	unsigned int *ret_n_slow)
{
	*ret_n_slow = 0;
	for (size_t i = 0; i < CLV_SCAN_PLACES; i++) {
		if (group->places[i].until_ns <= now_ns)
			continue;
		if (strcmp(group->places[i].name, name) == 0)
			return true;
		++*ret_n_slow;
	}
	return false;
}

bool clv_scan_budget_allow(const struct clv_scan_budget *slow, const char *lease,
	const char *tenant, uint64_t now_ns)
{
	unsigned int n_slow;

	if (is_slow(&slow->leases, lease, now_ns, &n_slow))
		return now_ns >= slow->leases.next_ns;
	/* While all entries are used, further tenants are not known to be fast. */
	return now_ns >= slow->tenants.next_ns ||
	       (!is_slow(&slow->tenants, tenant, now_ns, &n_slow) &&
		       n_slow < CLV_SCAN_PLACES);
}

/* The entry of the name, or an unused one.  NULL: all are used. */
static struct clv_scan_place *place_of(
	struct clv_scan_group *group, const char *name, uint64_t now_ns)
{
	struct clv_scan_place *is_free = NULL;

	for (size_t i = 0; i < CLV_SCAN_PLACES; i++) {
		struct clv_scan_place *place = &group->places[i];

		if (strcmp(place->name, name) == 0)
			return place;
		if (place->until_ns <= now_ns)
			is_free = place;
	}
	return is_free;
}

static void keep(struct clv_scan_group *group, const char *name, uint64_t now_ns)
{
	struct clv_scan_place *place = place_of(group, name, now_ns);

	if (!place)
		return;
	place->until_ns = now_ns + KEPT_NS;
	snprintf(place->name, sizeof(place->name), "%s", name);
}

static void charge(struct clv_scan_group *group, uint64_t took_ns, uint64_t now_ns)
{
	group->part = now_ns < group->next_ns + RECENT_NS ? group->part + FIRST_PART : 0;
	if (group->part < FIRST_PART || group->next_ns == 0)
		group->part = FIRST_PART;
	else if (group->part > PART)
		group->part = PART;
	group->next_ns = now_ns + group->part * took_ns;
}

void clv_scan_budget_note(struct clv_scan_budget *slow, const char *lease,
	const char *tenant, uint64_t took_ns, uint64_t now_ns)
{
	unsigned int n_slow;
	bool was_slow = is_slow(&slow->leases, lease, now_ns, &n_slow);

	charge(&slow->leases, took_ns, now_ns);
	if (!was_slow)
		charge(&slow->tenants, took_ns, now_ns);
	keep(&slow->leases, lease, now_ns);
	keep(&slow->tenants, tenant, now_ns);
}

int clv_scan_budget_find_page(struct clv_scan_budget *slow, const char *lease,
	const char *tenant, pid_t pid, const struct stat *page)
{
	uint64_t began_ns = clv_clock_ns(), now_ns;
	int r;

	if (!clv_scan_budget_allow(slow, lease, tenant, began_ns))
		return -EAGAIN;
	r = page ? clv_maps_file(pid, page->st_dev, page->st_ino) : clv_maps_report(pid);
	now_ns = clv_clock_ns();
	if (clv_maps_was_slow())
		clv_scan_budget_note(slow, lease, tenant, now_ns - began_ns, now_ns);
	return r;
}
