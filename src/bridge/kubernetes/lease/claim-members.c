/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices of a claim are in one lease. */
#include "bridge/kubernetes/lease/claim-members.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* Devices of one lease are alike, as far as can be seen here; the agent checks it. */
static bool belongs(const struct clv_kube_members *members, const json_t *result,
	const struct clv_kube_place *place)
{
	const struct clv_kube_place *first = &members->places[0];

	return first->is_joinable && place->is_joinable && !members->is_admin &&
	       first->memory_bytes == place->memory_bytes &&
	       strcmp(first->profile, place->profile) == 0;
}

bool clv_kube_members_join(struct clv_kube_members *members, const struct json_t *result,
	const struct clv_kube_place *place)
{
	if (members->n == CLV_KUBE_RESULTS_MAX ||
		(members->n > 0 && !belongs(members, result, place)))
		return false;
	members->results[members->n] = result;
	members->places[members->n++] = *place;
	members->is_admin = json_is_true(json_object_get(result, "adminAccess"));
	return true;
}

int clv_kube_members_name(const struct clv_kube_members *members,
	char ret[CLV_KUBE_DEVICES_MAX], struct clv_error *err)
{
	size_t used = 0;

	for (size_t i = 0; i < members->n; i++) {
		const struct clv_kube_place *place = &members->places[i];
		size_t room = CLV_KUBE_DEVICES_MAX - used;
		const char *comma = i > 0 ? "," : "";
		int n;

		if (place->profile[0] == '\0' || (place->is_mode && !place->is_divided))
			n = snprintf(ret + used, room, "%s%s", comma, place->device);
		else
			n = snprintf(ret + used, room, "%s%s/%s@%" PRIu32, comma,
				place->device, place->profile, place->start);
		if (n < 0 || (size_t)n >= room)
			return clv_error_set(err, -E2BIG,
				"the claim's names of devices are too long for a lease");
		used += (size_t)n;
	}
	return 0;
}
