/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/os/slow-looks.h"

#include "agent/os/maps.h"
#include "base/clock.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Slow looks take at most this part of the time.  The first ones take more, because most
 * processes that are slow once are fast at the next look. */
#define PART 100
#define FIRST_PART 20
#define RECENT_NS (60 * CLV_NS_PER_S)
/* How long a tenant's other processes, and those of its next leases, are taken for as
 * slow. */
#define KEPT_NS (600 * CLV_NS_PER_S)

bool clv_slow_looks_allow(
	const struct clv_slow_looks *slow, const char *tenant, uint64_t now_ns)
{
	unsigned int n_slow = 0;

	if (now_ns >= slow->next_ns)
		return true;
	for (size_t i = 0; i < CLV_SLOW_TENANTS; i++) {
		if (slow->tenants[i].until_ns <= now_ns)
			continue;
		if (strcmp(slow->tenants[i].name, tenant) == 0)
			return false;
		n_slow++;
	}
	/* Of further tenants it is not known that they are fast. */
	return n_slow < CLV_SLOW_TENANTS;
}

/* The tenant's place, or a free one.  NULL: all are taken. */
static struct clv_slow_tenant *place_of(
	struct clv_slow_looks *slow, const char *tenant, uint64_t now_ns)
{
	struct clv_slow_tenant *is_free = NULL;

	for (size_t i = 0; i < CLV_SLOW_TENANTS; i++) {
		struct clv_slow_tenant *place = &slow->tenants[i];

		if (strcmp(place->name, tenant) == 0)
			return place;
		if (place->until_ns <= now_ns)
			is_free = place;
	}
	return is_free;
}

void clv_slow_looks_note(struct clv_slow_looks *slow, const char *tenant,
	uint64_t took_ns, uint64_t now_ns)
{
	struct clv_slow_tenant *place = place_of(slow, tenant, now_ns);

	slow->part = now_ns < slow->next_ns + RECENT_NS ? slow->part + FIRST_PART : 0;
	if (slow->part < FIRST_PART || slow->next_ns == 0)
		slow->part = FIRST_PART;
	else if (slow->part > PART)
		slow->part = PART;
	slow->next_ns = now_ns + slow->part * took_ns;
	if (!place)
		return;
	place->until_ns = slow->next_ns + KEPT_NS;
	snprintf(place->name, sizeof(place->name), "%s", tenant);
}

int clv_slow_looks_find_page(struct clv_slow_looks *slow, const char *tenant, pid_t pid,
	const struct stat *page)
{
	uint64_t began_ns = clv_clock_ns(), now_ns;
	int r;

	if (!clv_slow_looks_allow(slow, tenant, began_ns))
		return -EAGAIN;
	r = page ? clv_maps_file(pid, page->st_dev, page->st_ino) : clv_maps_report(pid);
	now_ns = clv_clock_ns();
	if (clv_maps_was_slow())
		clv_slow_looks_note(slow, tenant, now_ns - began_ns, now_ns);
	return r;
}
