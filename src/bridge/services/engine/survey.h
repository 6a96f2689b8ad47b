/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/services/engine/leases.h"
#include "service/scale/give-way.h"

#include <jansson.h>
#include <stdbool.h>

/* Where a replica of a service could be, and which idle replicas are there.  Begins as
 * zeros; all is borrowed from it until it is cleared, and from the projects. */
struct clv_survey {
	struct clv_give_way room;
	struct clv_give_way_place *places;
	const char **devices; /* by place */
	struct clv_give_way_service *services;
	size_t n_services;
	struct clv_give_way_lease *leases;
	struct {
		const char *project, *name;
		double idle_s;
	} owners[CLV_GIVE_WAY_LEASES_MAX];
	bool has_place;    /* a frozen replica of the service goes on next, where it is */
	bool has_leaving;  /* a lease that is as good as free */
	bool is_given;     /* the service's replica was queued, and has its lease */
	const json_t *own; /* the service, as its supervisor shows it */
	json_t *all_leases, *all_devices;
};

/* projects: the status of each; project and wanted: which service needs room.  To be
 * cleared in any case. */
int clv_survey_read(struct clv_survey *survey, struct clv_leases *leases,
	const json_t *projects, const char *project, const struct clv_service *wanted,
	struct clv_error *err);
void clv_survey_clear(struct clv_survey *survey);
