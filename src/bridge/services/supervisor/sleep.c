/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas that sleep frozen: their containers keep memory, connections and lease; the
 * lease gives its compute back, and takes it again before the container goes on. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#include <string.h>

#define FROZEN_WITHIN_NS (10 * CLV_NS_PER_S)
#define REST_AGAIN_NS (2 * CLV_NS_PER_S)
/* Then another one is started, wherever there is room. */
#define NO_ROOM_MAX 4u

/* It stops, as that of another service does. */
static void stop(struct clv_replica *replica, const char *what, const char *why)
{
	clv_supervisor_say(replica->unit->of, replica->unit, what, "%s: %.200s; it stops",
		replica->name, why);
	clv_replica_remove(replica);
}

void clv_replica_freeze(struct clv_replica *replica)
{
	struct clv_error err;

	/* What was never ready would be taken for ready when it goes on. */
	if (!replica->has_served) {
		clv_replica_remove(replica);
		return;
	}
	if (clv_freezer_find(replica->pid, replica->id, &replica->freezer, &err) < 0 ||
		clv_freezer_freeze(&replica->freezer, &err) < 0) {
		stop(replica, "cannot be frozen", err.msg);
		return;
	}
	replica->has_rested = !replica->has_lease;
	replica->rested_ns = 0;
	replica->n_no_room = 0;
	clv_replica_set_phase(replica, CLV_PHASE_FREEZING);
}

static void rest(struct clv_replica *replica, uint64_t now_ns)
{
	const struct clv_unit *unit = replica->unit;
	const struct clv_service *service =
		clv_unit_of_generation(unit, replica->generation);
	struct clv_error err;

	replica->rested_ns = now_ns;
	replica->has_rested = clv_leases_rest(unit->of->leases, service, replica->name,
				      unit->scaling.shrinks, &err) >= 0;
	if (!replica->has_rested)
		clv_log_debug("%s: %s", replica->name, err.msg);
}

void clv_replica_tick_frozen(struct clv_replica *replica, uint64_t now_ns)
{
	if (replica->phase == CLV_PHASE_FROZEN) {
		if (!replica->has_rested && now_ns - replica->rested_ns >= REST_AGAIN_NS)
			rest(replica, now_ns);
		return;
	}
	if (clv_freezer_is_frozen(&replica->freezer)) {
		clv_replica_set_phase(replica, CLV_PHASE_FROZEN);
		if (!replica->has_rested)
			rest(replica, now_ns);
		clv_supervisor_say(replica->unit->of, replica->unit, "frozen",
			"%s keeps its memory, and computes nothing", replica->name);
	} else if (now_ns - replica->since_ns > FROZEN_WITHIN_NS) {
		stop(replica, "cannot be frozen",
			"one of its processes cannot be stopped");
	}
}

/* What it keeps in memory is given up only where nothing else helps: not while others
 * make room, nor for an agent that is away. */
static void have_no_room(
	struct clv_replica *replica, enum clv_lease_result result, const char *why)
{
	struct clv_unit *unit = replica->unit;

	if (result == CLV_LEASE_NO_ROOM && !unit->is_promised &&
		++replica->n_no_room == NO_ROOM_MAX) {
		clv_supervisor_say(unit->of, unit, "cannot go on",
			"%s: %.200s; another one is started", replica->name, why);
		clv_replica_remove(replica);
		return;
	}
	clv_unit_note_no_room(unit, why);
	unit->needs_room = result == CLV_LEASE_NO_ROOM;
}

static void go_on(struct clv_replica *replica)
{
	uint64_t slept_ns = clv_clock_ns() - replica->since_ns;
	struct clv_error err;

	if (clv_freezer_thaw(&replica->freezer, &err) < 0) {
		clv_log_warning(0, "%s: %s", replica->name, err.msg);
		clv_replica_remove(replica);
		return;
	}
	clv_unit_note_room(replica->unit);
	replica->n_test_failures = 0;
	replica->is_healthy = true;
	clv_supervisor_say(replica->unit->of, replica->unit, "goes on",
		"%s, which was frozen for %u s", replica->name,
		(unsigned)(slept_ns / CLV_NS_PER_S));
	/* If the proxy cannot be told, it is as one that has started. */
	clv_replica_set_phase(replica, CLV_PHASE_WARMING);
	clv_replica_serve(replica);
}

bool clv_replica_take_compute(struct clv_replica *replica, uint64_t now_ns)
{
	const struct clv_service *service =
		clv_unit_of_generation(replica->unit, replica->generation);
	struct clv_leases *leases = replica->unit->of->leases;
	enum clv_lease_result result;
	struct clv_error err;
	int r;

	if (!replica->may_rest || !replica->has_lease || replica->job ||
		clv_replica_is_old(replica) ||
		(replica->phase != CLV_PHASE_WARMING &&
			replica->phase != CLV_PHASE_SERVING) ||
		now_ns - replica->rested_ns < REST_AGAIN_NS)
		return true;
	replica->rested_ns = now_ns;
	r = clv_leases_rests(leases, replica->name, &err);
	/* Most do not: they answer, also while no agent does. */
	if (r < 0)
		return true;
	result = r ? clv_leases_resume(leases, service, replica->name, &err)
		   : CLV_LEASE_GIVEN;
	if (result == CLV_LEASE_GIVEN)
		replica->may_rest = false;
	else if (result != CLV_LEASE_UNKNOWN)
		stop(replica, "cannot go on", err.msg);
	return result == CLV_LEASE_GIVEN;
}

void clv_replica_thaw(struct clv_replica *replica)
{
	const struct clv_service *service =
		clv_unit_of_generation(replica->unit, replica->generation);
	enum clv_lease_result result = CLV_LEASE_GIVEN;
	struct clv_error err;

	if (replica->has_lease)
		result = clv_leases_resume(
			replica->unit->of->leases, service, replica->name, &err);
	if (result == CLV_LEASE_GIVEN)
		go_on(replica);
	else if (result == CLV_LEASE_NO_ROOM || result == CLV_LEASE_UNKNOWN)
		have_no_room(replica, result, err.msg);
	else
		stop(replica, "cannot go on", err.msg);
}
