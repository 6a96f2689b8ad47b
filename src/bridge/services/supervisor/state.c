/* SPDX-License-Identifier: Apache-2.0 */
/* What neither the file nor the containers say, kept for the next supervisor: that the
 * project ends, the numbers that users have set, and which generation was ready or given
 * up. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_generation(json_t *to, const char *key, uint64_t generation)
{
	char text[20];

	snprintf(text, sizeof(text), "%016" PRIx64, generation);
	json_object_set_new(to, key, json_string(text));
}

static bool has_generation(const json_t *from, const char *key, uint64_t generation)
{
	const char *text = json_string_value(json_object_get(from, key));

	return text && strtoull(text, NULL, 16) == generation;
}

static json_t *state_of(const struct clv_unit *unit)
{
	json_t *made = json_object();

	if (unit->is_set)
		json_object_set_new(
			made, "replicas", json_integer(unit->scaling.min_replicas));
	else if (unit->scaler.state == CLV_SCALER_OFF)
		json_object_set_new(made, "replicas", json_integer(0));
	if (unit->rollout.is_proven)
		add_generation(made, "proven", unit->rollout.generation);
	if (unit->is_undone)
		add_generation(made, "undone", unit->service->generation);
	return made;
}

static char *write_state(const struct clv_supervisor *supervisor)
{
	json_t *services = json_object(), *state;
	char *text;

	for (size_t i = 0; i < supervisor->n_units; i++)
		json_object_set_new(services, supervisor->units[i]->service->name,
			state_of(supervisor->units[i]));
	state = json_pack(
		"{s:b, s:o}", "ending", supervisor->is_ending, "services", services);
	text = json_dumps(state, JSON_INDENT(2) | JSON_SORT_KEYS);
	json_decref(state);
	return text;
}

int clv_supervisor_keep(struct clv_supervisor *supervisor, struct clv_error *err)
{
	char *text = write_state(supervisor);
	char path[CLV_PATH_MAX];
	int r;

	if (!text)
		return clv_error_errno(err, ENOMEM, "cannot keep the state");
	if (supervisor->kept && strcmp(text, supervisor->kept) == 0) {
		free(text);
		return 0;
	}
	clv_project_path(&supervisor->project, CLV_PROJECT_STATE, path);
	r = clv_file_replace(path, text, err);
	free(supervisor->kept);
	supervisor->kept = r < 0 ? NULL : text;
	if (r < 0)
		free(text);
	return r;
}

void clv_supervisor_recall(struct clv_supervisor *supervisor)
{
	char path[CLV_PATH_MAX];

	clv_project_path(&supervisor->project, CLV_PROJECT_STATE, path);
	supervisor->recalled = json_load_file(path, 0, NULL);
	if (json_is_true(json_object_get(supervisor->recalled, "ending")))
		supervisor->is_ending = true;
}

/* The update was given up: its service is that of the generation before. */
static void recall_undone(struct clv_unit *unit)
{
	if (!unit->previous)
		return;
	unit->is_undone = true;
	unit->rollout.generation = unit->previous->generation;
	unit->rollout.previous = 0;
	unit->rollout.is_proven = true;
}

void clv_unit_recall(struct clv_unit *unit, bool fresh, uint64_t now_ns)
{
	const json_t *services = json_object_get(unit->of->recalled, "services");
	const json_t *state = json_object_get(services, unit->service->name);
	const json_t *n = json_object_get(state, "replicas");

	if (has_generation(state, "proven", unit->service->generation))
		unit->rollout.is_proven = true;
	if (fresh)
		return;
	if (has_generation(state, "undone", unit->service->generation))
		recall_undone(unit);
	if (n)
		clv_unit_set(unit, (uint32_t)json_integer_value(n), now_ns);
}
