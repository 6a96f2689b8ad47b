/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of how long commands take, by the queue's own time: concurrent work in other
 * queues has its own markers. */
#include "gate/queue/samples.h"

#include "gate/process/profile.h"
#include "gate/process/queue-record.h"
#include "gate/process/view.h"
#include "gate/window/costs.h"
#include "gate/window/flight.h"

/* Completions that are noticed late, as behind another queue's marker or by a thread that
 * was not scheduled, come in a burst, and the time of each tells nothing.  Together they
 * do, up to the next one that is noticed at once, or if they are this many. */
#define LATE_TOGETHER CLV_KINDS_TOGETHER

/* Estimates this far off are of other commands: all are dropped. */
#define FAR_OFF 4

static bool is_single(uint64_t kind)
{
	return kind != 0 && kind != CLV_COST_MIXED;
}

void clv_samples_drop(struct clv_queue *queue)
{
	atomic_store(&queue->n_each, 0);
	atomic_store(&queue->n_each_kinds, 0);
	atomic_store(&queue->each_since_ns, 0);
}

/* Updates what each command of the queue takes, for its next ones of unknown duration.
 * The first sample may contain one-time costs, so a shorter one replaces it. */
static void update_each(struct clv_queue *queue, uint64_t took_ns, uint64_t n)
{
	uint64_t known_ns = atomic_load(&queue->backlog.each_ns);
	uint64_t each_ns = took_ns / n;

	if (known_ns > 0 && each_ns > 8 * known_ns)
		each_ns = 8 * known_ns;
	if (known_ns > 0 && each_ns > known_ns)
		each_ns = known_ns + (each_ns - known_ns) / 8;
	atomic_store(&queue->backlog.each_ns, each_ns > 0 ? each_ns : 1);
}

static void learn_if_unknown(uint64_t kind, uint64_t took_ns, uint64_t n)
{
	if (is_single(kind) && clv_cost_estimate(kind) == 0)
		clv_cost_learn(kind, took_ns, n);
}

/* Commands of several kinds took took_ns together: nothing better is known of each of
 * them than the mean. */
static void learn_together(struct clv_queue *queue, uint64_t took_ns, uint64_t n)
{
	uint32_t n_kinds = atomic_load(&queue->n_each_kinds);

	for (uint32_t i = 0; i < n_kinds && i < CLV_KINDS_TOGETHER; i++)
		learn_if_unknown(atomic_load(&queue->each_kinds[i]), took_ns, n);
}

/* Returns the number of commands that are noticed late so far. */
static uint64_t note_late(struct clv_queue *queue, uint64_t kind, uint64_t count)
{
	uint32_t place = atomic_fetch_add(&queue->n_each_kinds, 1);

	if (place < CLV_KINDS_TOGETHER)
		atomic_store(&queue->each_kinds[place], kind);
	return atomic_fetch_add(&queue->n_each, count) + count;
}

/* The commands of `done` come behind n that were noticed late.  While they alone were
 * waited for, they alone ran: at least for that long. */
static void learn_behind(struct clv_queue *queue, const struct clv_marker *done,
	uint64_t took_ns, uint64_t n)
{
	uint64_t count = CLV_FLIGHT_COUNT(done->packed), alone_ns = done->alone_ns;

	if (alone_ns == 0 || alone_ns > took_ns) {
		note_late(queue, done->kind, count);
		learn_together(queue, took_ns, n + count);
		return;
	}
	learn_together(queue, took_ns - alone_ns, n);
	if (is_single(done->kind))
		clv_cost_raise(done->kind, alone_ns / count);
}

/* A lease that attaches waits for what is in flight, as for all work that is there
 * already. */
static bool is_lease_alone(void)
{
	const struct clv_view *view = clv_gate_current_view();

	return view && CLV_PHASE_OF(atomic_load(&view->control->phase)) == CLV_PHASE_OPEN;
}

static void learn_single(uint64_t kind, uint64_t took_ns, uint64_t n)
{
	if (is_lease_alone())
		clv_cost_calm(kind);
	clv_cost_learn(kind, took_ns, n);
}

/* The commands of `done` and n_late before them took took_ns. */
static void learn_sample(struct clv_queue *queue, const struct clv_marker *done,
	uint64_t took_ns, uint64_t n_late)
{
	uint64_t count = CLV_FLIGHT_COUNT(done->packed);

	update_each(queue, took_ns, n_late + count);
	if (done->is_late)
		learn_together(queue, took_ns, n_late + count);
	else if (n_late > 0)
		learn_behind(queue, done, took_ns, n_late);
	else if (is_single(done->kind))
		learn_single(done->kind, took_ns, count);
}

/* Since when the commands that have no estimate yet ran; 0: not known.  The first of them
 * ran since the queue's last completion, or since it was submitted. */
static uint64_t begin_sample(struct clv_queue *queue, const struct clv_marker *done)
{
	uint64_t since_ns = atomic_load(&queue->each_since_ns);

	if (since_ns < done->since_ns && atomic_load(&queue->n_each) == 0) {
		since_ns = done->since_ns;
		atomic_store(&queue->each_since_ns, since_ns);
	}
	return since_ns;
}

static void learn_from(
	struct clv_queue *queue, const struct clv_marker *done, uint64_t now_ns)
{
	uint64_t since_ns = begin_sample(queue, done);
	uint64_t n_late = atomic_load(&queue->n_each), took_ns;
	uint64_t count = CLV_FLIGHT_COUNT(done->packed);

	if (done->is_late && note_late(queue, done->kind, count) < LATE_TOGETHER)
		return;
	took_ns = since_ns > 0 && since_ns < now_ns ? now_ns - since_ns : 0;
	if (took_ns > 0)
		learn_sample(queue, done, took_ns, n_late);
	clv_samples_drop(queue);
	atomic_store(&queue->each_since_ns, now_ns);
}

/* Whether a batch of several kinds took far longer, or less, than estimated. */
static bool is_far_off(const struct clv_marker *done, uint64_t took_ns)
{
	uint64_t expected_ns = CLV_FLIGHT_NS(done->packed);

	return done->kind == CLV_COST_MIXED &&
	       ((took_ns > FAR_OFF * expected_ns && took_ns > CLV_NS_PER_MS) ||
		       (expected_ns > FAR_OFF * took_ns && expected_ns > CLV_NS_PER_MS));
}

void clv_samples_learn(
	struct clv_queue *queue, const struct clv_marker *done, uint64_t now_ns)
{
	uint64_t before_ns = atomic_exchange(&queue->last_done_ns, now_ns);
	uint64_t count = CLV_FLIGHT_COUNT(done->packed), since_ns = done->since_ns;
	uint64_t took_ns, idle_ns;

	idle_ns = since_ns > before_ns ? since_ns - before_ns : 0;
	if (before_ns > since_ns)
		since_ns = before_ns;
	took_ns = now_ns > since_ns ? now_ns - since_ns : 0;
	if (CLV_UNLIKELY(clv_profile))
		clv_profile_add(count, took_ns, idle_ns);
	if (clv_flight_was_forced(done->since_ns) || count == 0) {
		clv_samples_drop(queue);
		return;
	}
	if (is_far_off(done, took_ns))
		clv_cost_forget();
	learn_from(queue, done, now_ns);
}
