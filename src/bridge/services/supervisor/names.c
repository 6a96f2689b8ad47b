/* SPDX-License-Identifier: Apache-2.0 */
/* Which names the containers of a project know: of each service its ready replicas, or,
 * of one that has none, those that start. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_unit(FILE *to, const struct clv_unit *unit)
{
	enum clv_replica_phase phase =
		clv_unit_n_serving(unit) ? CLV_PHASE_SERVING : CLV_PHASE_WARMING;

	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		const struct clv_replica *replica = unit->replicas[i];

		if (replica && replica->phase == phase && replica->address[0])
			fprintf(to, "%s %s\n", replica->address, unit->service->name);
	}
}

char *clv_supervisor_names(const struct clv_supervisor *supervisor)
{
	char *text = NULL;
	size_t n_bytes;
	FILE *to = open_memstream(&text, &n_bytes);

	for (size_t i = 0; to && i < supervisor->n_units; i++)
		write_unit(to, supervisor->units[i]);
	if (to && fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

static bool is_service(void *userdata, const char *name)
{
	return clv_supervisor_find(userdata, name) != NULL;
}

static void tell(struct clv_replica *replica, const char *names)
{
	struct clv_supervisor *supervisor = replica->unit->of;
	bool runs = replica->phase == CLV_PHASE_WARMING ||
		    replica->phase == CLV_PHASE_SERVING ||
		    replica->phase == CLV_PHASE_DRAINING;
	struct clv_error err;

	if (!runs || !replica->hosts || replica->names_id == supervisor->names_id)
		return;
	replica->names_id = supervisor->names_id;
	if (clv_engine_write_names(replica->hosts, names, is_service, supervisor, &err) <
		0)
		clv_log_warning(0, "%s: %s", replica->name, err.msg);
}

void clv_supervisor_tell_names(struct clv_supervisor *supervisor)
{
	char *names = clv_supervisor_names(supervisor);

	if (!names)
		return;
	if (!supervisor->names || strcmp(supervisor->names, names) != 0)
		supervisor->names_id++;
	free(supervisor->names);
	supervisor->names = names;
	for (size_t i = 0; i < supervisor->n_units; i++) {
		for (size_t k = 0; k < CLV_PROXY_SLOTS_MAX; k++) {
			if (supervisor->units[i]->replicas[k])
				tell(supervisor->units[i]->replicas[k], names);
		}
	}
}
