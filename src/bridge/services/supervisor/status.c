/* SPDX-License-Identifier: Apache-2.0 */
/* What the supervisor tells of its services. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/duration.h"
#include "base/text.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static json_t *show_replica(const struct clv_replica *replica)
{
	char generation[20];

	snprintf(generation, sizeof(generation), "%016" PRIx64, replica->generation);
	return json_pack("{s:s, s:s, s:s, s:s, s:i, s:b, s:b, s:s}", "name",
		replica->name, "state", clv_replica_phase_to_string(replica->phase),
		"address", replica->address, "generation", generation, "in_flight",
		(int)replica->unit->figures.of_slot[replica->slot], "lease",
		clv_unit_of_generation(replica->unit, replica->generation)
			->device.is_given,
		"leaving", replica->is_leaving, "why", replica->why);
}

static json_t *show_ports(const struct clv_service *service)
{
	json_t *list = json_array();

	for (size_t i = 0; i < service->n_ports; i++)
		json_array_append_new(list, json_integer(service->ports[i].published));
	return list;
}

/* Its lease waits in the agent's queue. */
static bool is_queued(const struct clv_unit *unit)
{
	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		if (unit->replicas[i] && unit->replicas[i]->phase == CLV_PHASE_QUEUED)
			return true;
	}
	return false;
}

/* A port that is not open may be that of a service which ends. */
static bool has_removed(const struct clv_supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->n_units; i++) {
		if (supervisor->units[i]->is_removed)
			return true;
	}
	return false;
}

/* "ready": as many replicas as wanted, of the wanted generation.  "failing", "no room":
 * it is tried again.  "failed": it is not. */
static const char *state_of(const struct clv_unit *unit)
{
	static const char *const idle_states[_CLV_SCALER_STATE_MAX] = {
		[CLV_SCALER_AWAKE] = "ready",
		[CLV_SCALER_ASLEEP] = "asleep",
		[CLV_SCALER_OFF] = "off",
	};

	if (unit->is_removed || unit->of->is_ending)
		return "removed";
	if (unit->is_complete)
		return "complete";
	if (!clv_unit_is_busy(unit))
		return idle_states[unit->scaler.state];
	if (unit->scaler.wanted == 0)
		return "stopping";
	/* What others give way to starts as soon as they have stopped. */
	if ((unit->no_room_until_ns || is_queued(unit)) && !unit->is_promised)
		return "no room";
	if (unit->proxy_fault[0] && !has_removed(unit->of))
		return "failing";
	if (unit->backoff.n_failures)
		return unit->service->restart == CLV_SERVICE_RESTART_NEVER ? "failed"
									   : "failing";
	return "starting";
}

static json_t *show_move(const struct clv_move *move)
{
	static const char *const states[] = {
		[CLV_MOVE_NONE] = "none",
		[CLV_MOVE_BEGUN] = "moving",
		[CLV_MOVE_DONE] = "moved",
		[CLV_MOVE_NO_ROOM] = "no room",
		[CLV_MOVE_FAILED] = "failed",
	};

	return json_pack("{s:s, s:s, s:s, s:s}", "state", states[move->state], "lease",
		move->name, "device", move->device, "why", move->why);
}

/* Why it has no room, and who makes some. */
static void explain_failure(const struct clv_unit *unit, char *ret, size_t room)
{
	snprintf(ret, room, "%s%s%s",
		unit->proxy_fault[0] ? unit->proxy_fault : unit->why,
		unit->giving_way[0] ? ": " : "", unit->giving_way);
	clv_text_make_printable(ret); /* a character may be cut */
}

static json_t *show_unit(const struct clv_unit *unit)
{
	json_t *replicas = json_array();
	uint64_t idle_ns = 0;
	uint32_t n_spare = clv_unit_spare(unit, &idle_ns);
	char why[160], failure[420];
	bool waits = unit->is_promised && clv_unit_is_busy(unit);

	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		if (unit->replicas[i])
			json_array_append_new(replicas, show_replica(unit->replicas[i]));
	}
	if (unit->is_complete)
		strcpy(why, "its program ended with exit code 0");
	else
		clv_scaler_explain(&unit->scaler, &unit->scaling, why);
	explain_failure(unit, failure, sizeof(failure));
	return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:o, s:f, s:I, s:i, s:b, s:b, "
			 "s:b, s:b, s:i, s:f, s:o, s:s, s:s, s:o}",
		"name", unit->service->name, "state", state_of(unit), "wanted",
		(int)unit->scaler.wanted, "ready", (int)clv_unit_n_serving(unit),
		"min_replicas", (int)unit->scaling.min_replicas, "max_replicas",
		(int)unit->scaling.max_replicas, "ports", show_ports(unit->service),
		"use", (double)unit->use_ppm / CLV_PPM, "requests",
		(json_int_t)unit->figures.n_requests, "in_flight",
		(int)unit->figures.n_in_flight, "asleep",
		unit->scaler.state == CLV_SCALER_ASLEEP, "sleeps", unit->scaling.stops,
		"autoscaled", unit->service->autoscaling.yaml != NULL, "undone",
		unit->is_undone, "spare", (int)n_spare, "idle_seconds",
		(double)idle_ns / CLV_NS_PER_S, "move", show_move(&unit->move), "why",
		waits ? failure : why, "failure", failure, "replicas", replicas);
}

json_t *clv_supervisor_show(const struct clv_supervisor *supervisor)
{
	json_t *services = json_array();

	for (size_t i = 0; i < supervisor->n_units; i++)
		json_array_append_new(services, show_unit(supervisor->units[i]));
	return json_pack("{s:s, s:i, s:s, s:o}", "project", supervisor->project.name,
		"pid", (int)getpid(), "file", supervisor->project.file, "services",
		services);
}

json_t *clv_supervisor_refuse(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	clv_text_make_printable(text); /* a character may be cut */
	return json_pack("{s:s}", "error", text);
}
