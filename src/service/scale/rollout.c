/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table, as in scaler.c: the first whose condition holds is the next step. */
#include "service/scale/rollout.h"

#include "base/cleanup.h"
#include "base/duration.h"

#define NONE SIZE_MAX

/* Counts, and the replica that each step would take. */
struct view {
	const struct clv_rollout *rollout;
	const struct clv_rollout_look *look;
	uint32_t n_new_ready, n_new_starting, n_old_ready, n_old_starting;
	size_t drained, drained_new, failed, failed_new; /* the first of these; NONE */
	size_t frozen, frozen_old;
	size_t spare_old, spare_new; /* the last of these, those that start first */
};

/* Of two replicas that could stop, one that is not ready goes first. */
static void offer(const struct view *v, size_t *spare, size_t at)
{
	const struct clv_rollout_replica *replicas = v->look->replicas;

	if (*spare == NONE || replicas[at].state == CLV_REPLICA_STARTING ||
		replicas[*spare].state != CLV_REPLICA_STARTING)
		*spare = at;
}

static void keep_first(size_t *first, size_t at)
{
	if (*first == NONE)
		*first = at;
}

static void count(struct view *v, size_t at)
{
	const struct clv_rollout_replica *replica = &v->look->replicas[at];
	bool is_new = replica->generation == v->rollout->generation;
	bool is_ready = replica->state == CLV_REPLICA_READY;

	switch (replica->state) {
	case CLV_REPLICA_FAILED:
		keep_first(&v->failed, at);
		if (is_new)
			keep_first(&v->failed_new, at);
		return;
	case CLV_REPLICA_DRAINING:
		if (replica->is_drained)
			keep_first(is_new ? &v->drained_new : &v->drained, at);
		return;
	case CLV_REPLICA_FROZEN:
		keep_first(is_new ? &v->frozen : &v->frozen_old, at);
		return;
	default:
		offer(v, is_new ? &v->spare_new : &v->spare_old, at);
		*(is_new           ? is_ready ? &v->n_new_ready : &v->n_new_starting
			: is_ready ? &v->n_old_ready
				   : &v->n_old_starting) += 1;
		return;
	}
}

static uint32_t n_old(const struct view *v)
{
	return v->n_old_ready + v->n_old_starting;
}

static uint32_t n_live(const struct view *v)
{
	return n_old(v) + v->n_new_ready + v->n_new_starting;
}

/* --- Conditions --- */

static bool has_failed_update(const struct view *v)
{
	return v->failed_new != NONE && !v->rollout->is_proven && v->rollout->previous;
}

static bool can_freeze(const struct view *v)
{
	return v->look->freezes && v->drained_new != NONE;
}

static bool has_drained(const struct view *v)
{
	return v->drained != NONE;
}

static bool has_drained_new(const struct view *v)
{
	return v->drained_new != NONE;
}

static bool has_old_frozen(const struct view *v)
{
	return v->frozen_old != NONE;
}

/* A service that is awake, and has all its replicas, needs no frozen ones. */
static bool has_frozen_surplus(const struct view *v)
{
	return v->frozen != NONE && !v->look->freezes && n_live(v) >= v->look->wanted;
}

static bool can_thaw(const struct view *v)
{
	return v->frozen != NONE && v->look->may_start && n_live(v) < v->look->wanted;
}

static bool has_failed(const struct view *v)
{
	return v->failed != NONE;
}

static bool has_old_surplus(const struct view *v)
{
	return n_old(v) > 0 && v->n_new_ready + n_old(v) > v->look->wanted;
}

/* An update without room, or that may not have one more for a time. */
static bool has_to_stop_old(const struct view *v)
{
	bool stops_first = v->look->stops_first || !v->look->has_room;

	return n_old(v) > 0 && v->n_new_starting == 0 && stops_first &&
	       v->look->may_start && n_live(v) >= v->look->wanted;
}

static bool may_start(const struct view *v)
{
	return v->look->may_start && v->look->n < v->look->n_slots;
}

static bool can_surge(const struct view *v)
{
	return n_old(v) > 0 && v->n_new_starting == 0 && may_start(v) &&
	       !v->look->stops_first && v->look->has_room && n_live(v) <= v->look->wanted;
}

static bool has_too_few(const struct view *v)
{
	return n_live(v) < v->look->wanted && may_start(v);
}

static bool has_too_many(const struct view *v)
{
	return v->n_new_ready + v->n_new_starting > v->look->wanted;
}

static bool always(const struct view *v)
{
	return true;
}

static const struct row {
	bool (*holds)(const struct view *v);
	enum clv_rollout_act act;
	size_t at; /* the offset in struct view of the replica */
} rows[] = {
	{has_failed_update, CLV_ROLLOUT_UNDO, offsetof(struct view, failed_new)},
	{can_freeze, CLV_ROLLOUT_FREEZE, offsetof(struct view, drained_new)},
	{has_drained, CLV_ROLLOUT_REMOVE, offsetof(struct view, drained)},
	{has_drained_new, CLV_ROLLOUT_REMOVE, offsetof(struct view, drained_new)},
	{has_failed, CLV_ROLLOUT_REMOVE, offsetof(struct view, failed)},
	{has_old_frozen, CLV_ROLLOUT_REMOVE, offsetof(struct view, frozen_old)},
	{has_frozen_surplus, CLV_ROLLOUT_REMOVE, offsetof(struct view, frozen)},
	{has_old_surplus, CLV_ROLLOUT_DRAIN, offsetof(struct view, spare_old)},
	{has_too_many, CLV_ROLLOUT_DRAIN, offsetof(struct view, spare_new)},
	{can_thaw, CLV_ROLLOUT_THAW, offsetof(struct view, frozen)},
	{can_surge, CLV_ROLLOUT_START, offsetof(struct view, spare_old)},
	{has_to_stop_old, CLV_ROLLOUT_DRAIN, offsetof(struct view, spare_old)},
	{has_too_few, CLV_ROLLOUT_START, offsetof(struct view, spare_new)},
	{always, CLV_ROLLOUT_NOTHING, offsetof(struct view, spare_new)},
};

static struct view look_at(
	const struct clv_rollout *rollout, const struct clv_rollout_look *look)
{
	struct view v = {
		.rollout = rollout,
		.look = look,
		.drained = NONE,
		.drained_new = NONE,
		.frozen = NONE,
		.frozen_old = NONE,
		.failed = NONE,
		.failed_new = NONE,
		.spare_old = NONE,
		.spare_new = NONE,
	};

	for (size_t i = 0; i < look->n; i++)
		count(&v, i);
	return v;
}

/* Old replicas are of the generation before, which is wanted again. */
static void undo(struct clv_rollout *rollout)
{
	rollout->generation = rollout->previous;
	rollout->previous = 0;
	rollout->is_proven = true;
}

struct clv_rollout_step clv_rollout_next(
	struct clv_rollout *rollout, const struct clv_rollout_look *look)
{
	struct view v = look_at(rollout, look);
	const struct row *row = rows;
	struct clv_rollout_step step;

	while (!row->holds(&v))
		row++;
	step = (struct clv_rollout_step){
		row->act, *(const size_t *)(const void *)((const char *)&v + row->at)};
	if (step.act == CLV_ROLLOUT_UNDO)
		undo(rollout);
	else if (n_old(&v) == 0 && v.n_new_ready > 0 && v.n_new_ready >= look->wanted)
		rollout->is_proven = true;
	return step;
}

void clv_rollout_update(struct clv_rollout *rollout, uint64_t generation)
{
	if (generation == rollout->generation)
		return;
	/* What was never ready is nothing to go back to. */
	if (rollout->is_proven)
		rollout->previous = rollout->generation;
	rollout->generation = generation;
	rollout->is_proven = false;
}

bool clv_rollout_is_updating(
	const struct clv_rollout *rollout, const struct clv_rollout_look *look)
{
	struct view v = look_at(rollout, look);

	return n_old(&v) > 0;
}

#define FIRST_NS CLV_NS_PER_S
#define DOUBLINGS_MAX 9u
#define LONGEST_NS (300 * CLV_NS_PER_S)
#define LASTS_NS (60 * CLV_NS_PER_S)

void clv_backoff_fail(struct clv_backoff *backoff, uint64_t now_ns)
{
	uint64_t pause_ns = backoff->n_failures < DOUBLINGS_MAX
				    ? FIRST_NS << backoff->n_failures
				    : LONGEST_NS;

	backoff->n_failures++;
	backoff->failed_ns = now_ns;
	backoff->until_ns = now_ns + (pause_ns < LONGEST_NS ? pause_ns : LONGEST_NS);
}

void clv_backoff_succeed(struct clv_backoff *backoff, uint64_t since_ns, uint64_t now_ns)
{
	if (since_ns < backoff->failed_ns)
		since_ns = backoff->failed_ns;
	if (now_ns >= since_ns + LASTS_NS)
		*backoff = (struct clv_backoff){0};
}
