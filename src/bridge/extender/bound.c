/* SPDX-License-Identifier: Apache-2.0 */
/* The pods that any extender has bound and that have not started. */
#include "bridge/extender/places-internal.h"

#include "base/array.h"
#include "base/hash.h"

#include <assert.h>
#include <string.h>

#define BOUND_MOST 16384u

/* Two pods with one hash would only cost a place that is not adopted. */
static uint64_t hash_of(const char *uid)
{
	return clv_fnv1a(CLV_FNV1A_START, uid, strlen(uid));
}

static struct clv_places_bound *find_bound(
	const struct clv_places *places, const char *uid)
{
	uint64_t hash = hash_of(uid);

	for (size_t i = 0; i < places->n_bound; i++) {
		if (places->bound[i].uid == hash)
			return &places->bound[i];
	}
	return NULL;
}

bool clv_places_is_bound(const struct clv_places *places, const char *uid)
{
	return find_bound(places, uid) != NULL;
}

bool clv_places_know(struct clv_places *places, const char *uid)
{
	struct clv_places_bound *bound = find_bound(places, uid);

	/* Without permission to watch pods the table would grow. */
	assert(places->n_bound <= BOUND_MOST);
	if (!bound && places->n_bound == BOUND_MOST)
		bound = &places->bound[places->n_replaced++ % BOUND_MOST];
	if (!bound)
		bound = CLV_APPEND(places->bound, places->n_bound);
	if (bound)
		*bound = (struct clv_places_bound){hash_of(uid), true};
	return bound != NULL;
}

void clv_places_forget(struct clv_places *places, const char *uid)
{
	struct clv_places_bound *bound = find_bound(places, uid);

	if (bound)
		*bound = places->bound[--places->n_bound];
}

void clv_places_begin_pods(struct clv_places *places)
{
	for (size_t i = 0; i < places->n_bound; i++)
		places->bound[i].is_listed = false;
}

void clv_places_end_pods(struct clv_places *places)
{
	for (size_t i = places->n_bound; i-- > 0;) {
		if (!places->bound[i].is_listed)
			places->bound[i] = places->bound[--places->n_bound];
	}
	places->has_pods = true;
}
