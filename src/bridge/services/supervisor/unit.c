/* SPDX-License-Identifier: Apache-2.0 */
/* A service: what the tables of service/scale decide, carried out. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For which connections that waited too long are let in, to be answered by 503. */
#define REFUSE_NS (CLV_NS_PER_S / 2)
/* The agent is asked whether a lease has left its queue. */
#define QUEUE_EVERY_NS (CLV_NS_PER_S / 4)

/* --- Ports --- */

static void say_fault(
	struct clv_unit *unit, const char *what, const struct clv_error *err)
{
	if (strncmp(unit->proxy_fault, err->msg, sizeof(unit->proxy_fault) - 1) == 0)
		return;
	snprintf(unit->proxy_fault, sizeof(unit->proxy_fault), "%s", err->msg);
	clv_text_make_printable(unit->proxy_fault);
	clv_supervisor_say(unit->of, unit, what, "%s", err->msg);
}

/* A connection came while the service sleeps; the tick looks at all sockets again. */
static int on_arrival(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_unit *unit = userdata;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	clv_supervisor_hurry(unit->of);
	return 0;
}

static void forget_arrivals(struct clv_unit *unit)
{
	while (unit->n_arrivals > 0)
		sd_event_source_disable_unref(unit->arrivals[--unit->n_arrivals]);
}

void clv_unit_bind(struct clv_unit *unit)
{
	const int *fds;
	struct clv_error err;
	size_t n;

	forget_arrivals(unit);
	if (clv_proxy_bind(unit->proxy, unit->service, &err) < 0) {
		say_fault(unit, "a port is not open", &err);
		return;
	}
	unit->proxy_fault[0] = '\0';
	n = clv_proxy_get_listeners(unit->proxy, &fds);
	for (size_t i = 0; i < n && i < CLV_ARRAY_SIZE(unit->arrivals); i++) {
		if (sd_event_add_io(unit->of->event, &unit->arrivals[unit->n_arrivals],
			    fds[i], POLLIN, on_arrival, unit) < 0)
			continue;
		sd_event_source_set_enabled(
			unit->arrivals[unit->n_arrivals++], SD_EVENT_OFF);
	}
}

static void watch_arrivals(struct clv_unit *unit, bool is_watched)
{
	for (size_t i = 0; i < unit->n_arrivals; i++)
		sd_event_source_set_enabled(
			unit->arrivals[i], is_watched ? SD_EVENT_ON : SD_EVENT_OFF);
}

/* While the proxy runs it accepts at once what comes. */
static bool has_waiting(const struct clv_unit *unit)
{
	return !clv_proxy_is_running(unit->proxy) && clv_proxy_has_waiting(unit->proxy);
}

static const char *address_of(void *userdata, unsigned slot)
{
	const struct clv_unit *unit = userdata;
	const struct clv_replica *replica = unit->replicas[slot];

	return replica && replica->phase == CLV_PHASE_SERVING ? replica->address : NULL;
}

static void forget_requests(struct clv_unit *unit)
{
	memset(unit->figures.of_slot, 0, sizeof(unit->figures.of_slot));
	unit->figures.n_in_flight = 0;
}

static void rest(struct clv_unit *unit)
{
	unit->proxy_death = sd_event_source_disable_unref(unit->proxy_death);
	if (clv_proxy_is_running(unit->proxy))
		clv_proxy_rest(unit->proxy);
	forget_requests(unit);
}

static int on_proxy_death(
	sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_unit *unit = userdata;

	unit->proxy_death = sd_event_source_disable_unref(unit->proxy_death);
	clv_supervisor_say(unit->of, unit, "the proxy ended", "it is started again");
	clv_supervisor_hurry(unit->of);
	return 0;
}

/* A replica that ended while there was no supervisor is still in the proxy, and another
 * container may have its address. */
static void end_empty_slots(struct clv_unit *unit)
{
	struct clv_error err;

	for (unsigned slot = 0; slot < clv_proxy_slots(unit->service); slot++) {
		if (!unit->replicas[slot] &&
			clv_proxy_end_server(
				unit->proxy, unit->service, slot, false, &err) < 0)
			clv_log_debug("%s: %s", unit->service->name, err.msg);
	}
}

static void run_proxy(struct clv_unit *unit)
{
	/* What is refused or off is answered at once. */
	bool holds = unit->scaler.state == CLV_SCALER_AWAKE && !unit->refuse_until_ns &&
		     clv_unit_n_serving(unit) == 0;
	struct clv_error err;

	if (unit->service->n_ports == 0 || unit->proxy_death ||
		!clv_proxy_is_bound(unit->proxy))
		return;
	if (clv_proxy_run(unit->proxy, unit->service, holds, address_of, unit, &err) <
		0) {
		say_fault(unit, "the proxy does not run", &err);
		return;
	}
	unit->proxy_fault[0] = '\0';
	end_empty_slots(unit);
	sd_event_add_io(unit->of->event, &unit->proxy_death,
		clv_proxy_get_pidfd(unit->proxy), POLLIN, on_proxy_death, unit);
}

/* Returns whether a time in which requests were refused is over without a replica: the
 * proxy, which refuses, ends then. */
static bool end_refusal(struct clv_unit *unit, uint64_t now_ns)
{
	bool is_over = now_ns >= unit->refuse_until_ns, serves;

	if (!unit->refuse_until_ns)
		return false;
	serves = clv_unit_n_serving(unit) > 0;
	if (is_over || serves)
		unit->refuse_until_ns = 0;
	return is_over && !serves;
}

/* Without a ready replica connections wait: in the proxy if it runs, which tries again
 * for a time, else in the kernel, each at most wake_timeout_ns longer than the first of
 * them; then they are let in, and the proxy answers 503. */
static void keep_ports(struct clv_unit *unit, uint64_t now_ns)
{
	bool has_refused = end_refusal(unit, now_ns);
	bool is_off = unit->scaler.state == CLV_SCALER_OFF || unit->is_complete;
	bool is_kept = unit->scaler.state == CLV_SCALER_AWAKE && unit->proxy_death &&
		       !has_refused;
	bool waits = has_waiting(unit);
	struct clv_error err;

	if (unit->is_removed)
		return;
	if (clv_unit_n_serving(unit) > 0 || is_off || is_kept ||
		now_ns < unit->refuse_until_ns) {
		unit->waiting_since_ns = 0;
		run_proxy(unit);
		/* A replica that became ready has ended it by itself. */
		if (is_off && unit->proxy_death &&
			clv_proxy_end_hold(unit->proxy, unit->service, &err) < 0)
			clv_log_debug("%s: %s", unit->service->name, err.msg);
		return;
	}
	rest(unit);
	if (!waits)
		unit->waiting_since_ns = 0;
	else if (unit->waiting_since_ns == 0)
		unit->waiting_since_ns = now_ns;
	else if (now_ns - unit->waiting_since_ns > unit->scaling.wake_timeout_ns) {
		clv_supervisor_say(unit->of, unit, "requests are refused",
			"no replica became ready within %u s",
			(unsigned)(unit->scaling.wake_timeout_ns / CLV_NS_PER_S));
		unit->refuse_until_ns = now_ns + REFUSE_NS;
	}
	watch_arrivals(unit, !waits && unit->scaler.state == CLV_SCALER_ASLEEP);
}

void clv_unit_look(struct clv_unit *unit)
{
	struct clv_error err;

	if (!clv_proxy_is_bound(unit->proxy) && unit->service->n_ports &&
		!unit->is_removed)
		clv_unit_bind(unit);
	if (clv_proxy_is_running(unit->proxy) &&
		clv_proxy_read(unit->proxy, &unit->figures, &err) < 0)
		clv_log_debug("%s: %s", unit->service->name, err.msg);
	else
		unit->looked_ns = clv_clock_ns();
}

void clv_unit_close(struct clv_unit *unit)
{
	forget_arrivals(unit);
	unit->proxy_death = sd_event_source_disable_unref(unit->proxy_death);
	clv_proxy_close(unit->proxy);
	forget_requests(unit);
}

void clv_unit_end_proxy(struct clv_unit *unit)
{
	forget_arrivals(unit);
	unit->proxy_death = sd_event_source_disable_unref(unit->proxy_death);
	clv_proxy_stop(unit->proxy);
}

void clv_unit_free(struct clv_unit *unit)
{
	forget_arrivals(unit);
	sd_event_source_disable_unref(unit->proxy_death);
	clv_proxy_free(unit->proxy);
	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++)
		clv_replica_free(unit->replicas[i]);
	free(unit);
}

/* --- The number of replicas --- */

/* Of a service that is not scaled by its use the number is a setting; 0 of one that can
 * sleep is none: a request wakes as many as before. */
void clv_unit_set(struct clv_unit *unit, uint32_t n, uint64_t now_ns)
{
	if (!unit->service->autoscaling.yaml && (n > 0 || !unit->scaling.stops)) {
		unit->scaling.min_replicas = n;
		unit->is_set = true;
	}
	clv_scaler_set(&unit->scaler, &unit->scaling, n, now_ns);
}

static struct clv_scaler_look look_of(const struct clv_unit *unit, uint64_t now_ns)
{
	return (struct clv_scaler_look){
		.now_ns = now_ns,
		.has_device = unit->service->device.is_given,
		.use_ppm = unit->use_ppm,
		.n_requests = unit->figures.n_requests,
		.n_in_flight = unit->figures.n_in_flight,
		.has_waiting = has_waiting(unit),
		.has_room = now_ns >= unit->no_room_until_ns,
		.is_failing = unit->backoff.n_failures > 1,
		.n_ready = clv_unit_n_serving(unit),
	};
}

/* Up to the last look: what came since is not known.  While it changes it gives nothing.
 * Frozen replicas still have their memory. */
uint32_t clv_unit_spare(const struct clv_unit *unit, uint64_t *ret_idle_ns)
{
	const struct clv_scaler_look look = look_of(unit, unit->looked_ns);

	if (!unit->service->device.is_given || unit->is_removed || unit->is_complete ||
		clv_unit_is_busy(unit))
		return 0;
	if (unit->scaler.state == CLV_SCALER_ASLEEP && !has_waiting(unit) &&
		unit->looked_ns > unit->scaler.since_quiet_ns) {
		*ret_idle_ns = unit->looked_ns - unit->scaler.since_quiet_ns;
		return clv_unit_n_in(unit, CLV_PHASE_FROZEN);
	}
	return clv_scaler_spare(
		&unit->scaler, &unit->scaling, &look, unit->spare_after_ns, ret_idle_ns);
}

static void scale(struct clv_unit *unit, uint64_t now_ns)
{
	const struct clv_scaler_look look = look_of(unit, now_ns);
	enum clv_scaler_state before = unit->scaler.state;
	uint32_t wanted = unit->scaler.wanted;
	char why[160];

	if (!clv_scaler_step(&unit->scaler, &unit->scaling, &look))
		return;
	clv_scaler_explain(&unit->scaler, &unit->scaling, why);
	if (unit->scaler.state != before)
		clv_supervisor_say(unit->of, unit,
			unit->scaler.state == CLV_SCALER_ASLEEP ? "asleep" : "awake",
			"%s", why);
	else
		clv_supervisor_say(unit->of, unit,
			unit->scaler.wanted > wanted ? "one more replica"
						     : "one replica fewer",
			"from %u to %u: %s", wanted, unit->scaler.wanted, why);
}

/* --- The next replica --- */

static bool is_there(const struct clv_unit *unit, enum clv_service_condition condition)
{
	bool sleeps = unit->scaler.state == CLV_SCALER_ASLEEP;

	if (condition == CLV_SERVICE_COMPLETED || unit->is_complete)
		return unit->is_complete;
	if (condition == CLV_SERVICE_HEALTHY)
		return sleeps || clv_unit_n_serving(unit) > 0;
	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		const struct clv_replica *replica = unit->replicas[i];

		if (replica && (replica->phase == CLV_PHASE_WARMING ||
				       replica->phase == CLV_PHASE_SERVING))
			return true;
	}
	return sleeps;
}

static bool has_dependencies(const struct clv_unit *unit)
{
	for (size_t i = 0; i < unit->service->n_dependencies; i++) {
		const struct clv_service_dependency *dependency =
			&unit->service->dependencies[i];
		const struct clv_unit *other =
			clv_supervisor_find(unit->of, dependency->name);

		if (other && !is_there(other, dependency->condition))
			return false;
	}
	return true;
}

/* A program that failed for good starts no more. */
static bool has_given_up(const struct clv_unit *unit)
{
	uint32_t n = unit->backoff.n_failures;

	switch (unit->service->restart) {
	case CLV_SERVICE_RESTART_NEVER:
		return n > 0;
	case CLV_SERVICE_RESTART_ON_FAILURE:
		return unit->service->n_restarts && n > unit->service->n_restarts;
	default:
		return false;
	}
}

static void undo(struct clv_unit *unit, const struct clv_replica *failed)
{
	unit->is_undone = true;
	unit->backoff = (struct clv_backoff){0};
	clv_supervisor_say(unit->of, unit, "the update is undone", "%s: %s", failed->name,
		failed->why);
}

static unsigned free_slot(const struct clv_unit *unit)
{
	unsigned slot = 0;

	while (slot < clv_proxy_slots(unit->service) && unit->replicas[slot])
		slot++;
	return slot;
}

/* Where the last ready replica of a service goes to sleep, new connections are to wait in
 * the kernel, and those that the proxy has are still to be answered by that replica. */
static void drain(struct clv_unit *unit, struct clv_replica *replica)
{
	if (unit->scaler.state == CLV_SCALER_ASLEEP && clv_unit_n_serving(unit) == 1 &&
		replica->phase == CLV_PHASE_SERVING)
		rest(unit);
	clv_replica_drain(replica);
}

static void carry_out(struct clv_unit *unit, struct clv_rollout_step step,
	struct clv_replica *const *replicas)
{
	switch (step.act) {
	case CLV_ROLLOUT_START:
		clv_replica_start(unit, free_slot(unit), unit->rollout.generation);
		return;
	case CLV_ROLLOUT_FREEZE:
		clv_replica_freeze(replicas[step.at]);
		return;
	case CLV_ROLLOUT_THAW:
		clv_replica_thaw(replicas[step.at]);
		return;
	case CLV_ROLLOUT_DRAIN:
		drain(unit, replicas[step.at]);
		return;
	case CLV_ROLLOUT_REMOVE:
		clv_replica_remove(replicas[step.at]);
		return;
	case CLV_ROLLOUT_UNDO:
		undo(unit, replicas[step.at]);
		return;
	case CLV_ROLLOUT_NOTHING:
		return;
	}
}

bool clv_unit_may_start(const struct clv_unit *unit, uint64_t now_ns)
{
	return now_ns >= unit->backoff.until_ns && now_ns >= unit->no_room_until_ns &&
	       !has_given_up(unit) && has_dependencies(unit);
}

static bool goes(const struct clv_replica *replica)
{
	return replica->phase == CLV_PHASE_ENDED ||
	       replica->phase == CLV_PHASE_DRAINING ||
	       replica->phase == CLV_PHASE_REMOVING;
}

/* A service that has given way, and then is wanted again, keeps those of its replicas
 * that still get requests.  The one that moves has another one in its place. */
static void take_back(struct clv_unit *unit)
{
	uint32_t n = 0;

	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++)
		n += unit->replicas[i] && !unit->replicas[i]->is_leaving &&
		     !goes(unit->replicas[i]);
	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX && n < unit->scaler.wanted; i++) {
		struct clv_replica *replica = unit->replicas[i];

		if (!replica || !replica->is_leaving ||
			replica->phase != CLV_PHASE_SERVING ||
			(unit->move.state == CLV_MOVE_BEGUN &&
				strcmp(unit->move.name, replica->name) == 0))
			continue;
		replica->is_leaving = false;
		n++;
		clv_supervisor_say(unit->of, unit, "stays",
			"%s is wanted again before it has stopped", replica->name);
	}
}

static void roll(struct clv_unit *unit, uint64_t now_ns)
{
	struct clv_rollout_replica views[CLV_PROXY_SLOTS_MAX];
	struct clv_replica *replicas[CLV_PROXY_SLOTS_MAX];
	bool is_ending = unit->of->is_ending || unit->is_removed;
	/* The old replica of a move stops last, or not at all. */
	bool is_moving = unit->move.state == CLV_MOVE_BEGUN;
	struct clv_rollout_look look = {
		.replicas = views,
		.n_slots = clv_proxy_slots(unit->service),
		.wanted = is_ending ? 0 : unit->scaler.wanted,
		.stops_first = unit->service->stops_first && !is_moving,
		.has_room = now_ns >= unit->no_room_until_ns || is_moving,
		.freezes = !is_ending && unit->scaler.state == CLV_SCALER_ASLEEP &&
			   unit->scaling.sleep == CLV_SERVICE_SLEEP_FROZEN,
	};

	if (!is_ending)
		take_back(unit);
	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		if (!unit->replicas[i])
			continue;
		replicas[look.n] = unit->replicas[i];
		views[look.n++] = clv_replica_view(unit->replicas[i], now_ns);
	}
	look.may_start = clv_unit_may_start(unit, now_ns);
	/* An update without room may stop an old replica all the same. */
	if (!look.has_room && clv_rollout_is_updating(&unit->rollout, &look))
		look.may_start = now_ns >= unit->backoff.until_ns;
	carry_out(unit, clv_rollout_next(&unit->rollout, &look), replicas);
}

static void tick_replicas(struct clv_unit *unit, uint64_t now_ns)
{
	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		struct clv_replica *replica = unit->replicas[i];

		if (replica && (replica->phase == CLV_PHASE_FREEZING ||
				       replica->phase == CLV_PHASE_FROZEN))
			clv_replica_tick_frozen(replica, now_ns);
		else if (replica && clv_replica_take_compute(replica, now_ns))
			clv_replica_tick(replica, now_ns);
	}
}

void clv_unit_tick(struct clv_unit *unit, uint64_t now_ns, bool is_look)
{
	tick_replicas(unit, now_ns);
	if (!unit->of->is_ending && !unit->is_removed && !unit->is_complete &&
		(is_look ||
			(unit->scaler.state == CLV_SCALER_ASLEEP && has_waiting(unit))))
		scale(unit, now_ns);
	if (!unit->is_complete || unit->of->is_ending || unit->is_removed)
		roll(unit, now_ns);
	keep_ports(unit, now_ns);
}

/* Frozen, and its service wants no more. */
static bool sleeps(const struct clv_replica *replica)
{
	return replica->phase == CLV_PHASE_FROZEN && !clv_replica_is_old(replica) &&
	       replica->unit->scaler.state == CLV_SCALER_ASLEEP &&
	       replica->unit->scaling.sleep == CLV_SERVICE_SLEEP_FROZEN;
}

bool clv_unit_is_busy(const struct clv_unit *unit)
{
	uint32_t wanted =
		unit->of->is_ending || unit->is_removed ? 0 : unit->scaler.wanted;
	uint32_t n = 0;

	if (unit->is_complete && wanted)
		return false;
	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		const struct clv_replica *replica = unit->replicas[i];

		if (!replica || sleeps(replica))
			continue;
		if (replica->phase != CLV_PHASE_SERVING || clv_replica_is_old(replica))
			return true;
		n++;
	}
	return n != wanted || unit->waiting_since_ns || unit->refuse_until_ns ||
	       (wanted && unit->service->n_ports && !unit->proxy_death);
}

/* Whether nothing is in progress: all its replicas are ready, and none of an earlier
 * generation, or wait in the agent's queue, of which *ret_is_queued tells. */
static bool is_settled(const struct clv_unit *unit, bool *ret_is_queued)
{
	*ret_is_queued = false;
	for (size_t i = 0; i < CLV_PROXY_SLOTS_MAX; i++) {
		const struct clv_replica *replica = unit->replicas[i];

		if (replica && replica->phase == CLV_PHASE_QUEUED)
			*ret_is_queued = true;
		else if (replica && ((replica->phase != CLV_PHASE_SERVING &&
					     replica->phase != CLV_PHASE_FROZEN) ||
					    clv_replica_is_old(replica)))
			return false;
	}
	return true;
}

uint64_t clv_unit_next_ns(const struct clv_unit *unit, uint64_t now_ns)
{
	bool waits = unit->waiting_since_ns || unit->refuse_until_ns, is_queued;
	uint64_t until_ns = unit->backoff.until_ns > unit->no_room_until_ns
				    ? unit->backoff.until_ns
				    : unit->no_room_until_ns;

	if (!clv_unit_is_busy(unit))
		return UINT64_MAX;
	if (waits || !is_settled(unit, &is_queued) || unit->of->is_ending ||
		unit->is_removed)
		return now_ns;
	if (is_queued)
		return now_ns + QUEUE_EVERY_NS;
	/* What it waits for hurries the supervisor, or is looked for by each look: what
	 * it depends on, a user, a port. */
	if (has_given_up(unit) || !has_dependencies(unit) ||
		(unit->service->n_ports && !clv_proxy_is_bound(unit->proxy)))
		return UINT64_MAX;
	return until_ns > now_ns ? until_ns : now_ns;
}
