/* SPDX-License-Identifier: Apache-2.0 */
/* The project: its file, the start with what runs already, and the loop's tick. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/units.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_TICK_NS (CLV_NS_PER_S / 20)
#define LOOK_EVERY_NS CLV_NS_PER_S
#define MINUTE_NS (60 * CLV_NS_PER_S)
/* Not at once: between two requests a service is idle, too. */
#define SPARE_AFTER_NS (10 * CLV_NS_PER_S)

/* --- The file --- */

static struct clv_unit *add_unit(
	struct clv_supervisor *supervisor, const struct clv_service *service)
{
	struct clv_unit *unit = calloc(1, sizeof(*unit));
	struct clv_unit **place =
		unit ? CLV_APPEND(supervisor->units, supervisor->n_units) : NULL;

	if (!place) {
		free(unit);
		return NULL;
	}
	*place = unit;
	unit->of = supervisor;
	unit->service = service;
	if (clv_proxy_new(&supervisor->project, service->name, &unit->proxy, NULL) >= 0)
		return unit;
	supervisor->n_units--;
	free(unit);
	return NULL;
}

/* Minutes of the file may be shorter, for tests and demonstrations. */
static uint64_t scaled(const struct clv_supervisor *supervisor, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * supervisor->minute_ns / MINUTE_NS);
}

static void take_scaling(struct clv_unit *unit)
{
	unit->is_set = false;
	unit->scaling = unit->service->scaling;
	unit->scaling.idle_ns = scaled(unit->of, unit->scaling.idle_ns);
	unit->scaling.over_ns = scaled(unit->of, unit->scaling.over_ns);
	unit->spare_after_ns = scaled(unit->of, SPARE_AFTER_NS);
}

/* A unit with this service as its present one.  What is asleep stays so. */
static int take_service(
	struct clv_supervisor *supervisor, const struct clv_service *service)
{
	struct clv_unit *unit = clv_supervisor_find(supervisor, service->name);
	uint64_t now_ns = clv_clock_ns();
	bool is_new = !unit;

	if (is_new)
		unit = add_unit(supervisor, service);
	if (!unit)
		return -ENOMEM;
	if (!is_new && service->generation != unit->service->generation) {
		/* After an update that was undone, that before it. */
		unit->previous = clv_unit_of_generation(unit, unit->rollout.generation);
		unit->is_complete = false;
		unit->backoff = (struct clv_backoff){0};
		/* All its replicas are replaced, wherever. */
		clv_unit_forget_move(unit);
	}
	/* An update that was undone is tried again, also to the same file. */
	unit->is_undone = false;
	unit->service = service;
	unit->is_removed = false;
	take_scaling(unit);
	clv_rollout_update(&unit->rollout, service->generation);
	if (is_new || !service->autoscaling.yaml)
		clv_scaler_start(
			&unit->scaler, &unit->scaling, service->n_replicas, now_ns);
	return 0;
}

static int load(struct clv_supervisor *supervisor, struct clv_error *err)
{
	struct clv_services *file = calloc(1, sizeof(*file));
	struct clv_services **place;
	int r = file ? clv_project_load(&supervisor->project, file, err)
		     : clv_error_errno(err, ENOMEM, "cannot read the file");

	if (r < 0) {
		free(file);
		return r;
	}
	place = CLV_APPEND(supervisor->files, supervisor->n_files);
	if (place)
		*place = file;
	for (size_t i = 0; i < supervisor->n_units; i++)
		supervisor->units[i]->is_removed = true;
	for (size_t i = 0; i < file->n && r >= 0 && place; i++)
		r = take_service(supervisor, &file->items[file->order[i]]);
	return r < 0 || !place ? clv_error_errno(err, ENOMEM, "cannot read the file") : 0;
}

/* --- Looks --- */

/* The part of their promise that a service's leases used in the last second, the mean. */
static uint32_t use_of(const struct clv_unit *unit)
{
	double sum = 0;
	unsigned n = 0;

	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		const struct clv_replica *replica = unit->replicas[i];
		const json_t *lease =
			replica && replica->phase == CLV_PHASE_SERVING
				? clv_leases_find(unit->of->leases, replica->name)
				: NULL;
		double share = json_number_value(json_object_get(lease, "share"));
		double used = json_number_value(json_object_get(lease, "share_used"));

		if (share <= 0)
			continue;
		/* What others left idle is no use of the promise. */
		sum += used < share ? used / share : 1;
		n++;
	}
	return n ? (uint32_t)(sum / n * CLV_PPM) : 0;
}

static bool has_devices(const struct clv_supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->n_units; i++) {
		if (supervisor->units[i]->service->device.is_given &&
			clv_unit_n_serving(supervisor->units[i]))
			return true;
	}
	return false;
}

static void look(struct clv_supervisor *supervisor)
{
	struct clv_error err;

	for (size_t i = 0; i < supervisor->n_units; i++)
		clv_unit_look(supervisor->units[i]);
	supervisor->looked_ns = clv_clock_ns();
	if (has_devices(supervisor) && clv_leases_look(supervisor->leases, &err) < 0)
		clv_log_debug("%s", err.msg);
	for (size_t i = 0; i < supervisor->n_units; i++)
		supervisor->units[i]->use_ppm = use_of(supervisor->units[i]);
}

/* --- The tick --- */

static bool is_empty(const struct clv_unit *unit)
{
	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		if (unit->replicas[i])
			return false;
	}
	return true;
}

static void drop_removed(struct clv_supervisor *supervisor)
{
	size_t n = 0;

	for (size_t i = 0; i < supervisor->n_units; i++) {
		struct clv_unit *unit = supervisor->units[i];

		if (unit->is_removed && is_empty(unit)) {
			clv_unit_close(unit);
			clv_unit_free(unit);
		} else {
			supervisor->units[n++] = unit;
		}
	}
	supervisor->n_units = n;
}

/* The time until the next tick. */
static uint64_t pause_of(const struct clv_supervisor *supervisor, uint64_t now_ns)
{
	uint64_t next_ns = now_ns + LOOK_EVERY_NS;

	for (size_t i = 0; i < supervisor->n_units; i++) {
		uint64_t its = clv_unit_next_ns(supervisor->units[i], now_ns);

		next_ns = its < next_ns ? its : next_ns;
	}
	return next_ns > now_ns + BUSY_TICK_NS ? next_ns - now_ns : BUSY_TICK_NS;
}

static bool is_down(const struct clv_supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->n_units; i++) {
		if (!is_empty(supervisor->units[i]))
			return false;
	}
	return supervisor->is_ending;
}

static int on_tick(sd_event_source *source, uint64_t at_us, void *userdata)
{
	struct clv_supervisor *supervisor = userdata;
	uint64_t now_ns = clv_clock_ns();
	bool is_look = now_ns - supervisor->looked_ns >= LOOK_EVERY_NS ||
		       (pause_of(supervisor, now_ns) == BUSY_TICK_NS &&
			       now_ns - supervisor->looked_ns >= LOOK_EVERY_NS / 5);
	struct clv_error err;

	if (is_look)
		look(supervisor);
	for (size_t i = 0; i < supervisor->n_units; i++) {
		clv_unit_tick(supervisor->units[i], now_ns, is_look);
		clv_unit_end_move(supervisor->units[i], now_ns);
	}
	drop_removed(supervisor);
	clv_supervisor_make_room(supervisor);
	clv_supervisor_tell_names(supervisor);
	if (clv_supervisor_keep(supervisor, &err) < 0)
		clv_log_warning(0, "%s", err.msg);
	if (is_down(supervisor))
		return sd_event_exit(supervisor->event, 0);
	sd_event_source_set_time_relative(
		source, pause_of(supervisor, now_ns) / CLV_NS_PER_US);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

/* --- The start --- */

/* What is no replica of a present service is removed. */
static void adopt(struct clv_supervisor *supervisor, const struct clv_engine_found *found)
{
	struct clv_unit *unit = clv_supervisor_find(supervisor, found->service);
	bool is_once = unit && unit->service->restart != CLV_SERVICE_RESTART_ALWAYS;
	struct clv_error err;

	if (unit && (found->is_running || is_once) &&
		found->slot < clv_proxy_slots(unit->service) &&
		!unit->replicas[found->slot]) {
		clv_replica_adopt(unit, found);
		return;
	}
	if (clv_engine_remove(supervisor->project.name, found, &err) < 0)
		clv_supervisor_leave(
			supervisor, NULL, "a container stays", found->name, &err);
}

/* Leases without a container are of replicas that never started; others have one.
 * Returns whether the agent knows them. */
static bool end_leases(struct clv_supervisor *supervisor)
{
	const char *names[CLV_SERVICES_MAX * 4];
	struct clv_error err;
	size_t n;

	if (clv_leases_look(supervisor->leases, &err) < 0) {
		clv_log_warning(0, "leases of %s are not known: %s",
			supervisor->project.name, err.msg);
		return false;
	}
	n = clv_leases_names(supervisor->leases, names, CLV_ARRAY_SIZE(names));
	for (size_t i = 0; i < n; i++) {
		bool is_used = false;

		for (size_t j = 0; j < supervisor->n_units && !is_used; j++) {
			for (size_t k = 0; k < CLV_PROXY_SLOTS_MAX && !is_used; k++) {
				struct clv_replica *replica =
					supervisor->units[j]->replicas[k];

				is_used = replica && strcmp(replica->name, names[i]) == 0;
				if (is_used)
					replica->has_lease = true;
			}
		}
		if (!is_used && clv_leases_end(supervisor->leases, names[i], &err) < 0)
			clv_supervisor_leave(
				supervisor, NULL, "a lease stays", names[i], &err);
	}
	return true;
}

/* A service that may be asleep, and of which nothing runs, sleeps until a request. */
static void take_numbers(struct clv_supervisor *supervisor, bool fresh)
{
	for (size_t i = 0; i < supervisor->n_units; i++) {
		struct clv_unit *unit = supervisor->units[i];
		uint32_t n = 0;

		for (size_t k = 0; k < CLV_PROXY_SLOTS_MAX; k++)
			n += unit->replicas[k] &&
			     unit->replicas[k]->phase != CLV_PHASE_FROZEN;
		n -= clv_unit_recall_leaving(unit);
		if (n > 0 && unit->service->autoscaling.yaml &&
			n >= unit->scaling.min_replicas)
			clv_scaler_start(
				&unit->scaler, &unit->scaling, n, clv_clock_ns());
		else if (n == 0 && !fresh && unit->scaling.stops)
			clv_scaler_set(&unit->scaler, &unit->scaling,
				unit->scaling.n_kept, clv_clock_ns());
		clv_unit_recall(unit, fresh, clv_clock_ns());
	}
}

/* The generation before is that of the containers which have it: an update that was
 * interrupted can still be undone. */
static void take_previous(struct clv_supervisor *supervisor)
{
	struct clv_services *file = calloc(1, sizeof(*file)), **place;
	struct clv_project project = supervisor->project;

	project.text = NULL;
	project.variables = NULL;
	if (!file || clv_project_load_previous(&project, file, NULL) < 0) {
		clv_project_clear(&project);
		free(file);
		return;
	}
	clv_project_clear(&project);
	for (size_t i = 0; i < file->n; i++) {
		struct clv_unit *unit =
			clv_supervisor_find(supervisor, file->items[i].name);

		if (!unit || unit->service->generation == file->items[i].generation)
			continue;
		unit->previous = &file->items[i];
		unit->rollout.previous = file->items[i].generation;
	}
	/* Kept, but not as the present file. */
	place = CLV_APPEND(supervisor->files, supervisor->n_files);
	if (!place)
		return;
	*place = place[-1];
	place[-1] = file;
}

static bool is_present(void *userdata, const char *service)
{
	return clv_supervisor_find(userdata, service) != NULL;
}

/* Ports of services that end are free for others; what they still answer goes on. */
static void close_removed(struct clv_supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->n_units; i++) {
		if (supervisor->units[i]->is_removed)
			clv_unit_close(supervisor->units[i]);
	}
}

/* Ports that another service gives up are opened by the next look. */
static void bind_all(struct clv_supervisor *supervisor)
{
	close_removed(supervisor);
	for (size_t i = 0; i < supervisor->n_units; i++) {
		struct clv_unit *unit = supervisor->units[i];

		if (unit->is_removed)
			clv_unit_close(unit);
	}
	for (size_t i = 0; i < supervisor->n_units; i++) {
		struct clv_unit *unit = supervisor->units[i];

		/* Of another shape it is replaced by the next tick. */
		unit->proxy_death = sd_event_source_disable_unref(unit->proxy_death);
		if (!unit->is_removed)
			clv_unit_bind(unit);
	}
}

/* Without it, replicas are in the engine's default network. */
static void make_network(struct clv_supervisor *supervisor)
{
	struct clv_error err;

	if (supervisor->is_ending)
		return;
	supervisor->has_network =
		clv_engine_make_network(supervisor->project.name, &err) >= 0;
	if (!supervisor->has_network)
		clv_supervisor_say(
			supervisor, NULL, "no network of its own", "%s", err.msg);
}

int clv_supervisor_start(
	struct clv_supervisor *supervisor, bool fresh, struct clv_error *err)
{
	_cleanup_free_ struct clv_engine_found *found = NULL;
	size_t n_found = 0;
	int r;

	clv_supervisor_recall(supervisor);
	r = load(supervisor, err);
	if (r >= 0) {
		take_previous(supervisor);
	} else if (supervisor->is_ending) {
		clv_log_warning(0, "%s", err->msg);
		r = 0;
	}
	if (r >= 0)
		r = clv_engine_list(supervisor->project.name, &found, &n_found, err);
	if (r < 0)
		return r;
	make_network(supervisor);
	for (size_t i = 0; i < n_found; i++)
		adopt(supervisor, &found[i]);
	end_leases(supervisor);
	take_numbers(supervisor, fresh);
	clv_proxy_sweep(&supervisor->project, is_present, supervisor);
	bind_all(supervisor);
	r = sd_event_add_time_relative(supervisor->event, &supervisor->timer,
		CLOCK_MONOTONIC, 0, 1000, on_tick, supervisor);
	if (r < 0)
		return clv_error_errno(err, -r, "cannot start");
	clv_supervisor_say(supervisor, NULL, "started", "%zu containers run", n_found);
	return 0;
}

int clv_supervisor_reload(struct clv_supervisor *supervisor, struct clv_error *err)
{
	int r = load(supervisor, err);

	if (r < 0)
		return r;
	if (!supervisor->has_network)
		make_network(supervisor);
	bind_all(supervisor);
	clv_supervisor_say(
		supervisor, NULL, "the file was read", "%s", supervisor->project.file);
	clv_supervisor_hurry(supervisor);
	return 0;
}

/* Also where the project's file could not be read. */
static bool may_have_leases(const struct clv_supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->n_units; i++) {
		if (supervisor->units[i]->service->device.is_given)
			return true;
	}
	return supervisor->n_units == 0;
}

void clv_supervisor_sweep(struct clv_supervisor *supervisor)
{
	_cleanup_free_ struct clv_engine_found *found = NULL;
	struct clv_error err;
	size_t n = 0, n_before = supervisor->n_left;

	supervisor->n_left = 0;
	if (clv_engine_list(supervisor->project.name, &found, &n, &err) < 0)
		clv_supervisor_leave(supervisor, NULL, "containers are not known",
			supervisor->project.name, &err);
	for (size_t i = 0; i < n; i++) {
		if (clv_engine_remove(supervisor->project.name, &found[i], &err) < 0)
			clv_supervisor_leave(supervisor, NULL, "a container stays",
				found[i].name, &err);
	}
	/* A container that stays is in it. */
	if (supervisor->n_left == 0 &&
		clv_engine_remove_network(supervisor->project.name, &err) < 0)
		clv_supervisor_leave(supervisor, NULL, "a network stays",
			supervisor->project.name, &err);
	if (!end_leases(supervisor))
		supervisor->n_left += n_before + may_have_leases(supervisor);
}

void clv_supervisor_clear(struct clv_supervisor *supervisor)
{
	clv_round_free(supervisor->round);
	for (size_t i = 0; i < supervisor->n_units; i++)
		clv_unit_free(supervisor->units[i]);
	free(supervisor->units);
	for (size_t i = 0; i < supervisor->n_files; i++) {
		clv_services_clear(supervisor->files[i]);
		free(supervisor->files[i]);
	}
	free(supervisor->files);
	sd_event_source_disable_unref(supervisor->timer);
	clv_leases_free(supervisor->leases);
	clv_supervisor_forget_events(supervisor);
	json_decref(supervisor->recalled);
	free(supervisor->kept);
	free(supervisor->names);
	clv_project_clear(&supervisor->project);
}
