/* SPDX-License-Identifier: Apache-2.0 */
/* One gate: the unchanged common part, its symbols renamed (INSTANCE is a digit), and an
 * API of one in-order queue on the device of stress.c. It does not test attaching. */
#define JOIN_(name, n) name##_##n
#define JOIN(name, n) JOIN_(name, n)
#define OWN(name) JOIN(name, INSTANCE)

#define clv_gate OWN(clv_gate)
#define clv_gate_thread OWN(clv_gate_thread)
#define clv_wiped_on_fork OWN(clv_wiped_on_fork)
#define clv_flight_enter OWN(clv_flight_enter)
#define clv_flight_leave OWN(clv_flight_leave)
#define clv_flight_try OWN(clv_flight_try)
#define clv_flight_enter_as_debt OWN(clv_flight_enter_as_debt)
#define clv_line_begin OWN(clv_line_begin)
#define clv_line_wait OWN(clv_line_wait)
#define clv_line_end OWN(clv_line_end)
#define clv_flight_may_mark_tail OWN(clv_flight_may_mark_tail)
#define clv_flight_has_waited_for_others OWN(clv_flight_has_waited_for_others)
#define clv_flight_is_stalled OWN(clv_flight_is_stalled)
#define clv_flight_note_forced OWN(clv_flight_note_forced)
#define clv_flight_was_forced OWN(clv_flight_was_forced)
#define clv_flight_wants_marker_now OWN(clv_flight_wants_marker_now)
#define clv_flight_report_idle OWN(clv_flight_report_idle)
#define clv_heartbeat_has_ended OWN(clv_heartbeat_has_ended)
#define clv_heartbeat_look OWN(clv_heartbeat_look)
#define clv_heartbeat_is_silent OWN(clv_heartbeat_is_silent)
#define clv_heartbeat_set_clock OWN(clv_heartbeat_set_clock)
#define clv_grace_begin OWN(clv_grace_begin)
#define clv_grace_succeeded OWN(clv_grace_succeeded)
#define clv_grace_left_ns OWN(clv_grace_left_ns)
#define clv_grace_failed OWN(clv_grace_failed)
#define clv_helper_start OWN(clv_helper_start)
#define clv_helper_spawn OWN(clv_helper_spawn)
#define clv_helper_wake OWN(clv_helper_wake)
#define clv_helper_run OWN(clv_helper_run)
#define clv_gate_view OWN(clv_gate_view)
#define clv_gate_carry_leftovers OWN(clv_gate_carry_leftovers)
#define clv_gate_seek_agent OWN(clv_gate_seek_agent)
#define clv_attach_ring OWN(clv_attach_ring)
#define clv_attach_is_intact OWN(clv_attach_is_intact)
#define clv_ledger_charge OWN(clv_ledger_charge)
#define clv_ledger_count_refusal OWN(clv_ledger_count_refusal)
#define clv_ledger_release OWN(clv_ledger_release)
#define clv_ledger_spill OWN(clv_ledger_spill)
#define clv_ledger_unspill OWN(clv_ledger_unspill)
#define clv_ledger_has_room OWN(clv_ledger_has_room)
#define clv_ledger_correct OWN(clv_ledger_correct)
#define clv_ledger_epoch OWN(clv_ledger_epoch)
#define clv_ledger_quota_bytes OWN(clv_ledger_quota_bytes)
#define clv_ledger_used_bytes OWN(clv_ledger_used_bytes)
#define clv_ledger_clamp_info OWN(clv_ledger_clamp_info)
#define clv_ledger_settled_bytes OWN(clv_ledger_settled_bytes)

#include "instance.h"

#include "gate/attach/heartbeat.c"
#include "gate/memory/ledger.c"
#include "gate/process/thread.c"
#include "gate/window/flight.c"
#include "gate/window/grace.c"
#include "gate/window/helper.c"

#include <unistd.h>

#define MAX_MARKERS 1024
/* The longest time that a lease is let in before the last one's work is complete (300 us
 * by estimate, src/arbiter/handover.c); scheduling delays of the machine are added. */
#define MOST_LEFT_NS 500000

static bool place_marker(bool lingering);
static bool wait_for_marker(void);
static bool let_go_nothing(void);
static void forget_nothing(void);

static const struct clv_gate_api api = {
	.attach_api = 1,
	.run_helper = clv_helper_run,
	.mark_tails = place_marker,
	.wait_for_marker = wait_for_marker,
	.let_go = let_go_nothing,
	.forget_parent = forget_nothing,
};

struct clv_gate_state clv_gate = {.api = &api};
__thread struct clv_gate_thread clv_gate_thread;

static struct clv_view view;
static struct clv_wiped_on_fork forkless = {.view = &view, .epoch = 1};
struct clv_wiped_on_fork *clv_wiped_on_fork = &forkless;

static uint32_t lease_index;
static struct clv_backlog backlog;

static struct {
	pthread_mutex_t lock;
	uint64_t unmarked;    /* packed */
	uint64_t complete_ns; /* of the last command */
	struct {
		uint64_t packed, complete_ns;
	} markers[MAX_MARKERS];
	uint32_t head, tail;
	bool is_sync;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER};

void clv_gate_seek_agent(struct clv_view *of)
{
}

void clv_gate_carry_leftovers(void)
{
}

bool clv_attach_is_intact(const struct clv_view *of)
{
	return true;
}

bool clv_attach_ring(const struct clv_view *of)
{
	return write(of->doorbell_fd, "", 1) == 1;
}

static bool let_go_nothing(void)
{
	return false;
}

static void forget_nothing(void)
{
}

static bool place_marker(bool lingering)
{
	bool placed = false;

	pthread_mutex_lock(&queue.lock);
	/* The thread does not wait for its own commands. */
	if (lingering)
		queue.is_sync = false;
	if (CLV_FLIGHT_COUNT(queue.unmarked) > 0 &&
		queue.tail - queue.head < MAX_MARKERS) {
		queue.markers[queue.tail % MAX_MARKERS].packed = queue.unmarked;
		queue.markers[queue.tail % MAX_MARKERS].complete_ns = queue.complete_ns;
		queue.tail++;
		queue.unmarked = 0;
		placed = true;
	}
	pthread_mutex_unlock(&queue.lock);
	if (placed) {
		clv_helper_start();
		clv_helper_wake();
	}
	return placed;
}

static void leave(uint64_t packed)
{
	atomic_fetch_sub(&on_device[lease_index], (uint32_t)CLV_FLIGHT_COUNT(packed));
	atomic_fetch_sub(&backlog.awaited, packed);
	atomic_store(&backlog.progress_ns, clv_clock_ns());
	clv_flight_leave(packed);
}

static bool wait_for_marker(void)
{
	uint64_t packed = 0, complete_ns = 0;
	enum clv_phase phase;
	bool last, is_sync;

	pthread_mutex_lock(&queue.lock);
	if (queue.head != queue.tail) {
		packed = queue.markers[queue.head % MAX_MARKERS].packed;
		complete_ns = queue.markers[queue.head % MAX_MARKERS].complete_ns;
		queue.head++;
	}
	last = queue.head == queue.tail;
	is_sync = queue.is_sync;
	pthread_mutex_unlock(&queue.lock);
	if (packed == 0)
		return false;
	device_sleep_until(complete_ns);
	phase = CLV_PHASE_OF(atomic_load(&view.control->phase));
	if (last &&
		(phase == CLV_PHASE_CLOSED || (phase == CLV_PHASE_GRANTED && !is_sync)))
		place_marker(false);
	leave(packed);
	return true;
}

static void attach(struct clv_arbiter_lease *lease, uint32_t index, uint32_t slot)
{
	view.control = lease->pages.control;
	view.report = lease->pages.report;
	view.slot = &view.report->slots[slot];
	view.turn = &view.report->turns[slot];
	view.slot_index = slot;
	view.doorbell_fd = lease->pages.ring_fd;
	lease_index = index;
}

static bool is_other_on_device(void)
{
	for (uint32_t i = 0; i < N_LEASES; i++) {
		if (i != lease_index && atomic_load(&on_device[i]) > 0)
			return true;
	}
	return false;
}

static void submit(uint64_t duration_ns)
{
	uint64_t unmarked, left_ns;
	uint32_t n_markers;
	bool is_sync, is_first;

	if (!clv_flight_quick_enter(&view, CLV_FLIGHT_PACK(duration_ns)) &&
		!clv_flight_enter(&view, &backlog, duration_ns))
		clv_flight_enter_as_debt(&view, CLV_FLIGHT_PACK(duration_ns));
	is_first = atomic_fetch_add(&on_device[lease_index], 1) == 0;

	pthread_mutex_lock(&queue.lock);
	queue.complete_ns = device_take(duration_ns, &left_ns);
	if (is_first && left_ns > MOST_LEFT_NS && is_other_on_device())
		atomic_fetch_add(&n_trespasses, 1);
	if (CLV_FLIGHT_COUNT(atomic_fetch_add(
		    &backlog.awaited, CLV_FLIGHT_PACK(duration_ns))) == 0)
		atomic_store(&backlog.progress_ns, clv_clock_ns());
	queue.unmarked += CLV_FLIGHT_PACK(duration_ns);
	unmarked = queue.unmarked;
	n_markers = queue.tail - queue.head;
	is_sync = queue.is_sync;
	pthread_mutex_unlock(&queue.lock);
	if (clv_flight_fills_marker(&view, unmarked) ||
		clv_flight_wants_marker_now(&view, n_markers, is_sync))
		place_marker(false);
}

static void finish(void)
{
	uint64_t packed, complete_ns;

	pthread_mutex_lock(&queue.lock);
	packed = queue.unmarked;
	queue.unmarked = 0;
	complete_ns = queue.complete_ns;
	queue.is_sync = true;
	pthread_mutex_unlock(&queue.lock);
	device_sleep_until(complete_ns);
	if (packed)
		leave(packed);
}

static void release(uint64_t n_bytes)
{
	clv_ledger_release(n_bytes, 1);
}

const struct instance OWN(instance) = {
	.attach = attach,
	.submit = submit,
	.finish = finish,
	.charge = clv_ledger_charge,
	.release = release,
};
