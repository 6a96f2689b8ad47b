/* SPDX-License-Identifier: Apache-2.0 */
/* What neither the file nor the containers say, kept for the next supervisor: that the
 * project ends, the numbers that users have set, which generation was ready or given up,
 * and which replicas were to stop. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/cleanup.h"
#include "base/clock.h"
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

/* Replicas that stop for a move or for others, and the move. */
static void add_leaving(json_t *to, const struct clv_unit *unit)
{
	json_t *leaving = json_array();

	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		if (unit->replicas[i] && unit->replicas[i]->is_leaving)
			json_array_append_new(
				leaving, json_string(unit->replicas[i]->name));
	}
	if (json_array_size(leaving))
		json_object_set(to, "leaving", leaving);
	json_decref(leaving);
	if (unit->move.state == CLV_MOVE_BEGUN)
		json_object_set_new(to, "move",
			json_pack("{s:s, s:s, s:s}", "lease", unit->move.name, "device",
				unit->move.device, "next", unit->move.next));
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
	add_leaving(made, unit);
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

static const json_t *kept_of(const struct clv_unit *unit)
{
	return json_object_get(
		json_object_get(unit->of->recalled, "services"), unit->service->name);
}

static struct clv_replica *find_kept(const struct clv_unit *unit, const json_t *name)
{
	struct clv_replica *replica = clv_supervisor_find_replica(
		unit->of, json_is_string(name) ? json_string_value(name) : "");

	return replica && replica->unit == unit ? replica : NULL;
}

static void recall_move(struct clv_unit *unit, const json_t *kept)
{
	const struct clv_replica *old = find_kept(unit, json_object_get(kept, "lease")),
				 *next = find_kept(unit, json_object_get(kept, "next"));
	const char *device = json_string_value(json_object_get(kept, "device"));

	if (!old || !old->is_leaving || !device)
		return;
	unit->move = (struct clv_move){
		.state = CLV_MOVE_BEGUN,
		.since_ns = clv_clock_ns(),
	};
	strcpy(unit->move.name, old->name);
	strcpy(unit->move.next, next ? next->name : "");
	snprintf(unit->move.device, sizeof(unit->move.device), "%s", device);
}

uint32_t clv_unit_recall_leaving(struct clv_unit *unit)
{
	const json_t *kept = kept_of(unit), *name;
	uint32_t n = 0;
	size_t i;

	json_array_foreach (json_object_get(kept, "leaving"), i, name) {
		struct clv_replica *replica = find_kept(unit, name);

		/* Those of an earlier generation stop anyway. */
		if (!replica || replica->generation != unit->service->generation)
			continue;
		replica->is_leaving = true;
		n++;
	}
	recall_move(unit, json_object_get(kept, "move"));
	/* In the place of the one that moves there will be another one. */
	return n - (unit->move.state == CLV_MOVE_BEGUN && !unit->move.next[0]);
}

/* Whether it sleeps is seen from what runs. */
static void recall_number(struct clv_unit *unit, uint32_t n, uint64_t now_ns)
{
	if (unit->scaler.state != CLV_SCALER_ASLEEP) {
		clv_unit_set(unit, n, now_ns);
	} else if (n > 0 && !unit->service->autoscaling.yaml) {
		unit->scaling.min_replicas = n;
		unit->is_set = true;
	}
}

void clv_unit_recall(struct clv_unit *unit, bool fresh, uint64_t now_ns)
{
	const json_t *state = kept_of(unit);
	const json_t *n = json_object_get(state, "replicas");

	if (has_generation(state, "proven", unit->service->generation))
		unit->rollout.is_proven = true;
	if (fresh)
		return;
	if (has_generation(state, "undone", unit->service->generation))
		recall_undone(unit);
	if (n)
		recall_number(unit, (uint32_t)json_integer_value(n), now_ns);
}
