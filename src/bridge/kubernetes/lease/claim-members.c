/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices of a claim are in one lease. */
#include "bridge/kubernetes/lease/claim-members.h"

#include "base/error.h"
#include "base/units.h"
#include "bridge/kubernetes/config/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

int clv_kube_members_amount(const struct json_t *result,
	const struct clv_kube_place *place, struct clv_kube_amount *ret,
	struct clv_error *err)
{
	const json_t *consumed = json_object_get(result, "consumedCapacity");
	const char *share = json_string_value(json_object_get(consumed, "share"));
	const char *memory = json_string_value(json_object_get(consumed, "memory"));
	uint64_t hundredths = CLV_KUBE_HUNDREDTHS, bytes = 0;

	if (place->is_shared && memory && clv_kube_parse_quantity(memory, &bytes) < 0)
		return clv_error_set(err, -EINVAL,
			"the claim's memory '%.40s' is not a quantity", memory);
	/* 0: in proportion to the memory. */
	if (place->is_shared && share &&
		(clv_kube_parse_quantity(share, &hundredths) < 0 ||
			(hundredths == 0 && bytes == 0) ||
			hundredths > CLV_KUBE_HUNDREDTHS))
		return clv_error_set(err, -EINVAL,
			"the claim's share of %.40s hundredths is not from 1 to 100",
			share);
	ret->share_ppm = (uint32_t)(hundredths * (CLV_PPM / CLV_KUBE_HUNDREDTHS));
	ret->memory_bytes = bytes;
	return 0;
}

static bool is_whole(const json_t *result, const struct clv_kube_place *place)
{
	struct clv_kube_amount amount;

	if (clv_kube_members_amount(result, place, &amount, NULL) < 0)
		return false;
	return (amount.share_ppm == CLV_PPM || amount.share_ppm == 0) &&
	       (amount.memory_bytes == 0 || amount.memory_bytes == place->memory_bytes);
}

/* A lease of several devices has no limits in them. */
static bool is_limited(const struct clv_kube_lease_options *options)
{
	return options->cap_ppm || options->share_most_ppm || options->sm_ppm ||
	       options->spill_bytes;
}

/* Devices of one lease are alike, as far as can be seen here; the agent checks it. */
static bool belongs(const struct clv_kube_members *members, const json_t *result,
	const struct clv_kube_place *place)
{
	const struct clv_kube_place *first = &members->places[0];

	return first->is_joinable && place->is_joinable && !members->is_admin &&
	       !is_limited(&members->options) && is_whole(members->results[0], first) &&
	       is_whole(result, place) && first->memory_bytes == place->memory_bytes &&
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
