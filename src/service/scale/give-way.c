/* SPDX-License-Identifier: Apache-2.0 */
/* For each device, idle leases are taken in the order of their idle time until the
 * replica fits, and those that it fits without are given back; the device with the fewest
 * wins. */
#include "service/scale/give-way.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

/* What would be free on a place. */
struct offer {
	uint32_t ppm;
	uint64_t bytes;
	size_t leases[CLV_GIVE_WAY_LEASES_MAX];
	size_t n;
};

static bool fits(const struct clv_give_way_place *place, uint32_t ppm, uint64_t bytes)
{
	return ppm >= place->needed_ppm && bytes >= place->needed_bytes;
}

static uint32_t n_of_service(
	const struct clv_give_way *room, const struct offer *offer, size_t service)
{
	uint32_t n = 0;

	for (size_t i = 0; i < offer->n; i++)
		n += room->leases[offer->leases[i]].service == service;
	return n;
}

static bool has(const struct offer *offer, size_t lease)
{
	for (size_t i = 0; i < offer->n; i++) {
		if (offer->leases[i] == lease)
			return true;
	}
	return false;
}

/* The next lease of the place that may end: of the service that was idle longest. */
static bool find_next(const struct clv_give_way *room, size_t place,
	const struct offer *offer, size_t *ret)
{
	bool is_found = false;

	for (size_t i = 0; i < room->n_leases; i++) {
		const struct clv_give_way_lease *lease = &room->leases[i];
		const struct clv_give_way_service *service =
			&room->services[lease->service];

		if (lease->place != place || has(offer, i) ||
			n_of_service(room, offer, lease->service) >= service->n_spare)
			continue;
		if (is_found &&
			service->idle_ns <=
				room->services[room->leases[*ret].service].idle_ns)
			continue;
		*ret = i;
		is_found = true;
	}
	return is_found;
}

/* Gives back those without which it fits as well, first the ones that were idle for the
 * shortest time. */
static void prune(const struct clv_give_way *room, const struct clv_give_way_place *place,
	struct offer *offer)
{
	for (size_t i = offer->n; i-- > 0;) {
		const struct clv_give_way_lease *lease = &room->leases[offer->leases[i]];

		if (!fits(place, offer->ppm - lease->share_ppm,
			    offer->bytes - lease->memory_bytes))
			continue;
		offer->ppm -= lease->share_ppm;
		offer->bytes -= lease->memory_bytes;
		offer->n--;
		memmove(&offer->leases[i], &offer->leases[i + 1],
			(offer->n - i) * sizeof(offer->leases[0]));
	}
}

/* Returns whether the replica fits with the offer. */
static bool make_on(const struct clv_give_way *room, size_t at, struct offer *offer)
{
	const struct clv_give_way_place *place = &room->places[at];
	size_t next = 0;

	*offer = (struct offer){.ppm = place->free_ppm, .bytes = place->free_bytes};
	while (!fits(place, offer->ppm, offer->bytes) &&
		find_next(room, at, offer, &next)) {
		offer->leases[offer->n++] = next;
		offer->ppm += room->leases[next].share_ppm;
		offer->bytes += room->leases[next].memory_bytes;
	}
	if (!fits(place, offer->ppm, offer->bytes))
		return false;
	prune(room, place, offer);
	return true;
}

int clv_give_way_choose(
	const struct clv_give_way *room, size_t ret[CLV_GIVE_WAY_LEASES_MAX])
{
	int n = -1;

	assert(room->n_leases <= CLV_GIVE_WAY_LEASES_MAX);
	for (size_t i = 0; i < room->n_places; i++) {
		struct offer offer;

		if (!make_on(room, i, &offer) || (n >= 0 && (int)offer.n >= n))
			continue;
		n = (int)offer.n;
		memcpy(ret, offer.leases, offer.n * sizeof(*ret));
	}
	return n;
}
