/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/departures.h"

#include <errno.h>
#include <stdlib.h>

static bool is_before(const struct clv_departure *one, const struct clv_departure *other)
{
	return one->at_s != other->at_s ? one->at_s < other->at_s
					: one->lease < other->lease;
}

int clv_departures_add(struct clv_departures *departures, int64_t at_s, uint32_t lease)
{
	struct clv_departure added = {.at_s = at_s, .lease = lease};
	size_t i = departures->n;

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
	return 0;
}

bool clv_departures_take(
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

void clv_departures_done(struct clv_departures *departures)
{
	free(departures->items);
	*departures = (struct clv_departures){0};
}
