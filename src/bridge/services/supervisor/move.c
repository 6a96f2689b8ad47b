/* SPDX-License-Identifier: Apache-2.0 */
/* Moves of a replica to another device, as an update moves to another generation: the new
 * one starts there, and the old one stops once it is ready.  If the new one fails, or has
 * no room, the old one stays (replica.c). */
#include "bridge/services/supervisor/supervisor.h"

#include "base/clock.h"
#include "base/duration.h"
#include "bridge/services/project/control.h"

#include <stdio.h>
#include <string.h>

/* It is begun only where a replica may start at once. */
#define STARTED_WITHIN_NS (60 * CLV_NS_PER_S)

/* NULL: it may move there. */
static json_t *check(const struct clv_replica *replica, const char *device)
{
	const struct clv_unit *unit = replica->unit;
	const json_t *lease = clv_leases_find(unit->of->leases, replica->name);
	const char *name = unit->service->name;

	if (!unit->service->device.is_given)
		return clv_supervisor_refuse(
			"%s has no device: nothing is to move", name);
	if (unit->service->device.device[0])
		return clv_supervisor_refuse(
			"the file says 'device: %s' for %s: change it there, and "
			"run cleave up",
			unit->service->device.device, name);
	if (!device[0] || strlen(device) >= sizeof(unit->move.device))
		return clv_supervisor_refuse("name a device: cleave devices lists them");
	if (strcmp(device, clv_control_text(lease, "device")) == 0)
		return clv_supervisor_refuse(
			"%s is on %s already", replica->name, device);
	if (unit->is_complete || replica->phase != CLV_PHASE_SERVING)
		return clv_supervisor_refuse(
			"%s does not run: only what runs can move", replica->name);
	if (unit->of->is_ending || clv_unit_is_busy(unit) ||
		!clv_unit_may_start(unit, clv_clock_ns()))
		return clv_supervisor_refuse(
			"%s is being changed: try again when cleave services "
			"shows it ready or asleep",
			name);
	return NULL;
}

json_t *clv_supervisor_move(struct clv_supervisor *supervisor, const json_t *request)
{
	const char *name = clv_control_text(request, "lease"),
		   *device = clv_control_text(request, "device");
	struct clv_replica *replica = clv_supervisor_find_replica(supervisor, name);
	struct clv_unit *unit;
	json_t *refusal;

	if (!replica)
		return clv_supervisor_refuse(
			"%.120s is no replica of %s: cleave ps lists leases", name,
			supervisor->project.name);
	refusal = check(replica, device);
	if (refusal || json_is_true(json_object_get(request, "check")))
		return refusal ? refusal : json_object();
	unit = replica->unit;
	unit->move = (struct clv_move){
		.state = CLV_MOVE_BEGUN,
		.since_ns = clv_clock_ns(),
	};
	strcpy(unit->move.name, replica->name);
	strcpy(unit->move.device, device);
	replica->is_leaving = true;
	clv_supervisor_say(supervisor, unit, "moves", "%s to %s, by cleave move",
		replica->name, device);
	clv_supervisor_hurry(supervisor);
	return json_object();
}

static void finish(struct clv_unit *unit, const struct clv_replica *old)
{
	/* It has ended before by itself, and the new one became ready all the same. */
	if (old && old->is_leaving)
		return;
	unit->move.state = CLV_MOVE_DONE;
	clv_supervisor_say(unit->of, unit, "moved", "%s to %s: %s", unit->move.name,
		unit->move.device, unit->move.next);
}

void clv_unit_end_move(struct clv_unit *unit, uint64_t now_ns)
{
	const struct clv_move *move = &unit->move;
	const struct clv_replica *old, *next;

	if (move->state != CLV_MOVE_BEGUN)
		return;
	old = clv_supervisor_find_replica(unit->of, move->name);
	next = clv_supervisor_find_replica(unit->of, move->next);
	if (next && next->phase == CLV_PHASE_SERVING)
		finish(unit, old);
	else if (!next && !old)
		clv_unit_give_up_move(
			unit, CLV_MOVE_FAILED, "it ended before another one was ready");
	else if (!next && now_ns - move->since_ns > STARTED_WITHIN_NS)
		clv_unit_give_up_move(unit, CLV_MOVE_FAILED, "no other one could start");
}
