/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of service/scale/give-way.c choose from, of what supervisors and the
 * agent say. */
#include "bridge/services/engine/survey.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/units.h"
#include "bridge/services/project/control.h"
#include "core/share/share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static double number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

void clv_survey_clear(struct clv_survey *survey)
{
	free(survey->places);
	free(survey->devices);
	free(survey->services);
	free(survey->leases);
	json_decref(survey->all_leases);
	json_decref(survey->all_devices);
}

/* Whether a lease of the service may be on it. */
static bool suits(const struct clv_service_device *wanted, const json_t *device)
{
	const json_t *partition = json_object_get(device, "partition");
	bool is_partition = json_is_object(partition);

	if (json_is_true(json_object_get(device, "cordoned")) ||
		strcmp(clv_control_text(json_object_get(device, "health"), "state"),
			"ok") != 0)
		return false;
	if (wanted->device[0] &&
		strcmp(wanted->device, clv_control_text(device, "name")) != 0 &&
		strcmp(wanted->device, clv_control_text(device, "uuid")) != 0)
		return false;
	if (wanted->profile[0])
		return strcmp(wanted->profile, clv_control_text(partition, "profile")) ==
		       0;
	if (strcmp(wanted->isolation, "hardware") == 0)
		return is_partition;
	return !is_partition && !json_is_true(json_object_get(device, "divided"));
}

static uint64_t bytes_of(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

static uint32_t ppm_of(double part)
{
	return part > 0 ? (uint32_t)(part * CLV_PPM + .5) : 0;
}

/* A lease of the service that waits in the queue. */
static bool is_own(const struct clv_survey *survey, const json_t *lease)
{
	json_t *replica;
	size_t i;

	json_array_foreach (json_object_get(survey->own, "replicas"), i, replica) {
		if (strcmp(clv_control_text(replica, "name"),
			    clv_control_text(lease, "name")) == 0)
			return clv_leases_is_of_user(lease);
	}
	return false;
}

/* Whether what becomes free on the device is for leases of others, before the service. */
static bool is_waited_for(const struct clv_survey *survey, const char *device)
{
	double own = 0, others = 0;
	json_t *lease;
	size_t i;

	json_array_foreach (survey->all_leases, i, lease) {
		double at = number_of(lease, "queue_position");
		double *first = is_own(survey, lease) ? &own : &others;

		if (strcmp(clv_control_text(lease, "state"), "queued") != 0 ||
			strcmp(clv_control_text(lease, "device"), device) != 0)
			continue;
		*first = *first == 0 || at < *first ? at : *first;
	}
	return others > 0 && (own == 0 || others < own);
}

static void add_place(struct clv_survey *survey, const struct clv_service_device *wanted,
	const json_t *device)
{
	uint64_t bytes = bytes_of(device, "memory_bytes"),
		 promised = bytes_of(device, "memory_promised_bytes");
	uint32_t ppm = ppm_of(number_of(device, "share_promised"));
	struct clv_give_way_place *place;
	struct clv_share need;

	if (!suits(wanted, device) || clv_leases_need(wanted, bytes, &need) < 0 ||
		is_waited_for(survey, clv_control_text(device, "name")))
		return;
	place = CLV_APPEND(survey->places, survey->room.n_places);
	if (!place)
		return;
	survey->devices[survey->room.n_places - 1] = clv_control_text(device, "name");
	*place = (struct clv_give_way_place){
		.free_ppm = ppm < CLV_PPM ? CLV_PPM - ppm : 0,
		.needed_ppm = need.compute_ppm,
		.free_bytes = promised < bytes ? bytes - promised : 0,
		.needed_bytes = need.memory_bytes,
	};
}

/* Returns the lease of the agent that a replica has on one of the places; NULL: none. */
static const json_t *find_lease(
	const struct clv_survey *survey, const char *name, size_t *ret_place)
{
	json_t *lease;
	size_t i;

	json_array_foreach (survey->all_leases, i, lease) {
		if (strcmp(clv_control_text(lease, "name"), name) != 0 ||
			strcmp(clv_control_text(lease, "state"), "active") != 0 ||
			!clv_leases_is_of_user(lease))
			continue;
		for (size_t k = 0; k < survey->room.n_places; k++) {
			if (strcmp(survey->devices[k],
				    clv_control_text(lease, "device")) == 0) {
				*ret_place = k;
				return lease;
			}
		}
	}
	return NULL;
}

/* Of a range the lower bound is promised. */
static uint32_t promise_of(const json_t *lease)
{
	const json_t *range = json_object_get(lease, "share_range");

	return ppm_of(json_is_object(range) ? number_of(range, "least")
					    : number_of(lease, "share"));
}

/* What leaves already is as good as free. */
static bool leaves(const json_t *replica)
{
	const char *state = clv_control_text(replica, "state");

	return json_is_true(json_object_get(replica, "leaving")) ||
	       strcmp(state, "draining") == 0 || strcmp(state, "removing") == 0;
}

/* The first frozen replica of the service goes on next, where it is, with what its lease
 * has. */
static void keep_place(struct clv_survey *survey, size_t at, const json_t *lease)
{
	if (survey->has_place)
		return;
	survey->has_place = true;
	survey->places[at].free_ppm += promise_of(lease);
	survey->places[at].free_bytes += bytes_of(lease, "memory_bytes");
	for (size_t i = 0; i < survey->room.n_places; i++) {
		if (i != at)
			survey->places[i].needed_ppm = UINT32_MAX;
	}
}

/* One that sleeps gives what is frozen: those that are ready it keeps. */
static bool may_stop(const json_t *service, const char *state)
{
	return strcmp(state, "frozen") == 0 ||
	       (strcmp(state, "ready") == 0 &&
		       !json_is_true(json_object_get(service, "asleep")));
}

static void add_replica(struct clv_survey *survey, const char *project,
	const json_t *service, const json_t *replica)
{
	const char *name = clv_control_text(replica, "name"),
		   *state = clv_control_text(replica, "state");
	struct clv_give_way_lease *added;
	size_t place;
	const json_t *lease = find_lease(survey, name, &place);

	if (!lease)
		return;
	if (service == survey->own && strcmp(state, "queued") == 0)
		survey->is_given = true;
	if (leaves(replica)) {
		survey->has_leaving = true;
		survey->places[place].free_ppm += promise_of(lease);
		survey->places[place].free_bytes += bytes_of(lease, "memory_bytes");
		return;
	}
	if (service == survey->own && strcmp(state, "frozen") == 0)
		keep_place(survey, place, lease);
	if (survey->room.n_leases == CLV_GIVE_WAY_LEASES_MAX || !may_stop(service, state))
		return;
	added = CLV_APPEND(survey->leases, survey->room.n_leases);
	if (!added)
		return;
	*added = (struct clv_give_way_lease){
		.place = place,
		.service = survey->n_services - 1,
		.share_ppm = promise_of(lease),
		.memory_bytes = bytes_of(lease, "memory_bytes"),
	};
	survey->owners[survey->room.n_leases - 1].project = project;
	survey->owners[survey->room.n_leases - 1].name = name;
	survey->owners[survey->room.n_leases - 1].idle_s =
		number_of(service, "idle_seconds");
}

/* The service that needs room gives none. */
static void add_service(
	struct clv_survey *survey, const char *project, const json_t *service)
{
	struct clv_give_way_service *added =
		CLV_APPEND(survey->services, survey->n_services);
	json_t *replica;
	size_t i;

	if (!added)
		return;
	added->n_spare =
		service == survey->own ? 0 : (uint32_t)number_of(service, "spare");
	added->idle_ns = (uint64_t)(number_of(service, "idle_seconds") * CLV_NS_PER_S);
	json_array_foreach (json_object_get(service, "replicas"), i, replica)
		add_replica(survey, project, service, replica);
}

static const json_t *find_own(
	const json_t *projects, const char *project, const char *service)
{
	json_t *its, *found;
	size_t i, j;

	json_array_foreach (projects, i, its) {
		if (strcmp(clv_control_text(its, "project"), project) != 0)
			continue;
		json_array_foreach (json_object_get(its, "services"), j, found) {
			if (strcmp(clv_control_text(found, "name"), service) == 0)
				return found;
		}
	}
	return NULL;
}

int clv_survey_read(struct clv_survey *survey, struct clv_leases *leases,
	const json_t *projects, const char *project, const struct clv_service *wanted,
	struct clv_error *err)
{
	json_t *its, *service, *device;
	size_t i, j;
	int r = clv_leases_survey(leases, &survey->all_leases, &survey->all_devices, err);

	if (r < 0)
		return r;
	survey->own = find_own(projects, project, wanted->name);
	survey->devices = calloc(
		json_array_size(survey->all_devices) + 1, sizeof(*survey->devices));
	if (!survey->devices)
		return clv_error_errno(err, ENOMEM, "cannot look for room");
	json_array_foreach (survey->all_devices, i, device)
		add_place(survey, &wanted->device, device);
	json_array_foreach (projects, i, its) {
		json_array_foreach (json_object_get(its, "services"), j, service)
			add_service(survey, clv_control_text(its, "project"), service);
	}
	survey->room.places = survey->places;
	survey->room.services = survey->services;
	survey->room.leases = survey->leases;
	return 0;
}
