/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap of the ends of leases, with lazy removal of stale entries. */
#include "simulate/departures.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of moves for one request. */
#define FOLLOWED_MAX 16

static bool is_before(const struct clv_departure *one, const struct clv_departure *other)
{
	return one->at_s != other->at_s ? one->at_s < other->at_s
					: one->lease < other->lease;
}

static int grow_ends(struct clv_departures *departures, uint32_t lease)
{
	uint32_t n = departures->n_leases ? departures->n_leases : 256;
	int64_t *grown;

	if (lease < departures->n_leases)
		return 0;
	while (n <= lease)
		n += n / 2;
	grown = reallocarray(departures->ends, n, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	for (uint32_t i = departures->n_leases; i < n; i++)
		grown[i] = CLV_DEPARTURES_NEVER;
	departures->ends = grown;
	departures->n_leases = n;
	return 0;
}

int clv_departures_add(struct clv_departures *departures, int64_t at_s, uint32_t lease)
{
	struct clv_departure added = {.at_s = at_s, .lease = lease};
	size_t i = departures->n;

	if (grow_ends(departures, lease) < 0)
		return -ENOMEM;
	if (departures->n == departures->room) {
		size_t room = departures->room ? 2 * departures->room : 256;
		struct clv_departure *grown =
			reallocarray(departures->items, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		departures->items = grown;
		departures->room = room;
	}
	for (; i > 0 && is_before(&added, &departures->items[(i - 1) / 2]);
		i = (i - 1) / 2)
		departures->items[i] = departures->items[(i - 1) / 2];
	departures->items[i] = added;
	departures->n++;
	departures->ends[lease] = at_s;
	return 0;
}

int clv_departures_follow(struct clv_departures *departures, const uint32_t *from,
	const uint32_t *to, unsigned n)
{
	int64_t ends[FOLLOWED_MAX];
	int r = 0;

	if (n > FOLLOWED_MAX)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		ends[i] = CLV_DEPARTURES_NEVER;
		if (from[i] >= departures->n_leases)
			continue;
		ends[i] = departures->ends[from[i]];
		departures->ends[from[i]] = CLV_DEPARTURES_NEVER;
	}
	for (unsigned i = 0; r == 0 && i < n; i++) {
		if (ends[i] != CLV_DEPARTURES_NEVER)
			r = clv_departures_add(departures, ends[i], to[i]);
	}
	return r;
}

static bool take_first(
	struct clv_departures *departures, int64_t until_s, struct clv_departure *ret)
{
	struct clv_departure *items = departures->items, last;
	size_t i = 0;

	if (departures->n == 0 || items[0].at_s > until_s)
		return false;
	*ret = items[0];
	last = items[--departures->n];
	for (size_t child = 1; child < departures->n; child = 2 * i + 1) {
		if (child + 1 < departures->n &&
			is_before(&items[child + 1], &items[child]))
			child++;
		if (!is_before(&items[child], &last))
			break;
		items[i] = items[child];
		i = child;
	}
	items[i] = last;
	return true;
}

/* Skips stale entries: a lease that has moved is in the heap under its old number too. */
bool clv_departures_take(
	struct clv_departures *departures, int64_t until_s, struct clv_departure *ret)
{
	while (take_first(departures, until_s, ret)) {
		assert(ret->lease < departures->n_leases);
		if (departures->ends[ret->lease] != ret->at_s)
			continue;
		departures->ends[ret->lease] = CLV_DEPARTURES_NEVER;
		return true;
	}
	return false;
}

bool clv_departures_peek(struct clv_departures *departures, int64_t *ret_s)
{
	struct clv_departure stale;

	while (departures->n > 0) {
		const struct clv_departure *first = &departures->items[0];

		*ret_s = first->at_s;
		if (departures->ends[first->lease] == first->at_s)
			return true;
		take_first(departures, first->at_s, &stale);
	}
	return false;
}

int64_t clv_departures_cancel(struct clv_departures *departures, uint32_t lease)
{
	int64_t at_s = CLV_DEPARTURES_NEVER;

	if (lease < departures->n_leases) {
		at_s = departures->ends[lease];
		departures->ends[lease] = CLV_DEPARTURES_NEVER;
	}
	return at_s;
}

void clv_departures_restore(
	struct clv_departures *departures, uint32_t lease, int64_t at_s)
{
	assert(lease < departures->n_leases);
	departures->ends[lease] = at_s;
}

int clv_departures_copy(
	const struct clv_departures *departures, struct clv_departures *ret)
{
	size_t n = departures->n, n_leases = departures->n_leases;

	*ret = (struct clv_departures){
		.items = calloc(n + 1, sizeof(*ret->items)),
		.ends = calloc(n_leases + 1, sizeof(*ret->ends)),
		.n = n,
		.room = n + 1,
		.n_leases = departures->n_leases,
	};
	if (!ret->items || !ret->ends) {
		clv_departures_done(ret);
		return -ENOMEM;
	}
	if (n > 0)
		memcpy(ret->items, departures->items, n * sizeof(*ret->items));
	if (n_leases > 0)
		memcpy(ret->ends, departures->ends, n_leases * sizeof(*ret->ends));
	return 0;
}

void clv_departures_done(struct clv_departures *departures)
{
	free(departures->items);
	free(departures->ends);
	*departures = (struct clv_departures){0};
}
