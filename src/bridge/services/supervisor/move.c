/* SPDX-License-Identifier: Apache-2.0 */
/* Moves of a replica to another device, as an update moves to another generation: the new
 * one starts there, and the old one stops once it is ready.  If the new one fails, or has
 * no room, the old one stays (replica.c). */
#include "bridge/services/supervisor/supervisor.h"

#include <stdio.h>
#include <string.h>

static json_t *refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

static json_t *refuse(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return json_pack("{s:s}", "error", text);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* NULL: it may move there. */
static json_t *check(const struct clv_replica *replica, const char *device)
{
	const struct clv_unit *unit = replica->unit;
	const char *name = unit->service->name;

	if (!unit->service->device.is_given)
		return refuse("%s has no device: nothing is to move", name);
	if (unit->service->device.device[0])
		return refuse("the file says 'device: %s' for %s: change it there, and "
			      "run cleave up",
			unit->service->device.device, name);
	if (!device[0] || strlen(device) >= sizeof(unit->move.device))
		return refuse("name a device: cleave devices lists them");
	if (unit->of->is_ending || clv_unit_is_busy(unit))
		return refuse("%s is being changed: try again when cleave services "
			      "shows it ready or asleep",
			name);
	return NULL;
}

json_t *clv_supervisor_move(struct clv_supervisor *supervisor, const json_t *request)
{
	const char *name = text_of(request, "lease"),
		   *device = text_of(request, "device");
	struct clv_replica *replica = clv_supervisor_find_replica(supervisor, name);
	struct clv_unit *unit;
	json_t *refusal;

	if (!replica)
		return refuse("%.120s is no replica of %s: cleave ps lists leases", name,
			supervisor->project.name);
	refusal = check(replica, device);
	if (refusal)
		return refusal;
	unit = replica->unit;
	unit->move = (struct clv_move){.state = CLV_MOVE_BEGUN};
	strcpy(unit->move.name, replica->name);
	strcpy(unit->move.device, device);
	replica->is_leaving = true;
	clv_supervisor_say(supervisor, unit, "moves", "%s to %s, by cleave move",
		replica->name, device);
	clv_supervisor_hurry(supervisor);
	return json_object();
}

void clv_unit_end_move(struct clv_unit *unit)
{
	const struct clv_replica *moved = NULL;

	if (unit->move.state != CLV_MOVE_BEGUN)
		return;
	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		const struct clv_replica *replica = unit->replicas[i];

		if (replica && replica->is_leaving)
			return;
		if (replica && replica->is_moved)
			moved = replica;
	}
	/* It was stopped for another reason before the new one had started. */
	unit->move.state = moved ? CLV_MOVE_DONE : CLV_MOVE_FAILED;
	if (!moved)
		snprintf(unit->move.why, sizeof(unit->move.why),
			"it ended before another one had started");
	clv_supervisor_say(unit->of, unit, moved ? "moved" : "not moved", "%s to %s: %s",
		unit->move.name, unit->move.device, moved ? moved->name : unit->move.why);
}
