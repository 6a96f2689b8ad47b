/* SPDX-License-Identifier: Apache-2.0 */
/* Which replica starts or stops next: rows of the table, and updates as a whole, with
 * replicas that become ready, fail and drain in any order. */
#include "service/scale/rollout.h"

#include "base/cleanup.h"
#include "base/duration.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define OLD 1u
#define NEW 2u

/* Replicas as letters: s r f d z (frozen) of the new generation, S R F D Z of the old
 * one; "d!" is drained. */
static size_t parse(const char *text, struct clv_rollout_replica *ret)
{
	static const char letters[] = "srfdz";
	size_t n = 0;

	for (; *text; text++) {
		const char *at = strchr(letters, *text | 0x20);

		if (*text == '!') {
			ret[n - 1].is_drained = true;
			continue;
		}
		assert_non_null(at);
		ret[n++] = (struct clv_rollout_replica){
			.state = (enum clv_replica_state)(at - letters),
			.generation = *text & 0x20 ? NEW : OLD,
		};
	}
	return n;
}

static void test_rows(void **state)
{
	static const struct {
		const char *replicas;
		uint32_t wanted;
		const char *
			flags; /* s: stops first; f: full; w: may not start; z: freezes */
		enum clv_rollout_act act;
		size_t at;
	} cases[] = {
		/* no update */
		{"", 0, "", CLV_ROLLOUT_NOTHING, 0},
		{"", 1, "", CLV_ROLLOUT_START, 0},
		{"", 1, "w", CLV_ROLLOUT_NOTHING, 0},
		{"s", 1, "", CLV_ROLLOUT_NOTHING, 0},
		{"r", 1, "", CLV_ROLLOUT_NOTHING, 0},
		{"s", 2, "", CLV_ROLLOUT_START, 0},
		{"rr", 3, "f", CLV_ROLLOUT_START, 0}, /* its lease waits */
		{"rf", 2, "", CLV_ROLLOUT_REMOVE, 1},
		{"rrr", 2, "", CLV_ROLLOUT_DRAIN, 2},
		{"rsr", 2, "", CLV_ROLLOUT_DRAIN, 1}, /* what is not ready goes first */
		{"rd", 1, "", CLV_ROLLOUT_NOTHING, 0},
		{"rd!", 1, "", CLV_ROLLOUT_REMOVE, 1},
		{"dr", 2, "", CLV_ROLLOUT_START, 0},
		{"r", 0, "", CLV_ROLLOUT_DRAIN, 0},
		{"s", 0, "", CLV_ROLLOUT_DRAIN, 0},
		/* one that sleeps frozen */
		{"d!", 0, "z", CLV_ROLLOUT_FREEZE, 0},
		{"d", 0, "z", CLV_ROLLOUT_NOTHING, 0},
		{"D!", 0, "z", CLV_ROLLOUT_REMOVE, 0},
		{"z", 0, "z", CLV_ROLLOUT_NOTHING, 0},
		{"zd!", 0, "z", CLV_ROLLOUT_FREEZE, 1},
		{"rz", 1, "z", CLV_ROLLOUT_NOTHING, 0},
		{"z", 1, "", CLV_ROLLOUT_THAW, 0},
		{"z", 1, "w", CLV_ROLLOUT_NOTHING, 0},
		{"z", 1, "f", CLV_ROLLOUT_THAW, 0},
		{"sz", 2, "", CLV_ROLLOUT_THAW, 1},
		{"zr", 3, "", CLV_ROLLOUT_THAW, 0},
		{"rz", 1, "", CLV_ROLLOUT_REMOVE, 1},
		{"z", 0, "", CLV_ROLLOUT_REMOVE, 0}, /* the project ends */
		{"Z", 1, "", CLV_ROLLOUT_REMOVE, 0},
		/* an update, one more for a time */
		{"RR", 2, "", CLV_ROLLOUT_START, 0},
		{"RR", 2, "w", CLV_ROLLOUT_NOTHING, 0},
		{"RRs", 2, "", CLV_ROLLOUT_NOTHING, 0},
		{"RRr", 2, "", CLV_ROLLOUT_DRAIN, 1},
		{"RD", 1, "", CLV_ROLLOUT_START, 0},
		{"RDr", 2, "", CLV_ROLLOUT_NOTHING, 0}, /* no slot is free */
		{"RD!r", 2, "", CLV_ROLLOUT_REMOVE, 1},
		{"Rrr", 2, "", CLV_ROLLOUT_DRAIN, 0},
		{"SR", 2, "", CLV_ROLLOUT_START, 0},
		{"SRr", 2, "", CLV_ROLLOUT_DRAIN, 0},
		/* one less for a time, by setting or for want of room */
		{"RR", 2, "s", CLV_ROLLOUT_DRAIN, 1},
		{"RR", 2, "f", CLV_ROLLOUT_DRAIN, 1},
		{"RR", 2, "sw", CLV_ROLLOUT_NOTHING, 0},
		{"RD", 2, "s", CLV_ROLLOUT_START, 0},
		{"Rs", 2, "s", CLV_ROLLOUT_NOTHING, 0},
		{"Rr", 2, "s", CLV_ROLLOUT_DRAIN, 0},
		{"R", 1, "f", CLV_ROLLOUT_DRAIN, 0},
		/* a failure undoes it */
		{"RRf", 2, "", CLV_ROLLOUT_UNDO, 2},
		{"RrF", 2, "", CLV_ROLLOUT_REMOVE, 2},
		/* fewer are wanted, in the middle of it */
		{"RRr", 1, "", CLV_ROLLOUT_DRAIN, 1},
		{"RR", 0, "", CLV_ROLLOUT_DRAIN, 1},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases); i++) {
		struct clv_rollout_replica replicas[8];
		struct clv_rollout rollout = {.generation = NEW, .previous = OLD};
		const struct clv_rollout_look look = {
			.replicas = replicas,
			.n = parse(cases[i].replicas, replicas),
			.n_slots = 3 + (cases[i].wanted > 2),
			.wanted = cases[i].wanted,
			.stops_first = strchr(cases[i].flags, 's'),
			.freezes = strchr(cases[i].flags, 'z'),
			.has_room = !strchr(cases[i].flags, 'f'),
			.may_start = !strchr(cases[i].flags, 'w'),
		};
		struct clv_rollout_step step;

		/* Without replicas of the old one there is no update. */
		if (!strpbrk(cases[i].replicas, "SRFDZ"))
			rollout = (struct clv_rollout){
				.generation = NEW, .is_proven = true};
		step = clv_rollout_next(&rollout, &look);
		if (step.act != cases[i].act ||
			(step.act != CLV_ROLLOUT_NOTHING &&
				step.act != CLV_ROLLOUT_START && step.at != cases[i].at))
			fail_msg("'%s' of %u: %d at %zu", cases[i].replicas,
				cases[i].wanted, step.act, step.at);
		assert_int_equal(
			rollout.generation, step.act == CLV_ROLLOUT_UNDO ? OLD : NEW);
	}
}

static void test_first_generation(void **state)
{
	struct clv_rollout_replica replica = {CLV_REPLICA_FAILED, NEW, false};
	struct clv_rollout_look look = {.replicas = &replica,
		.n = 1,
		.n_slots = 3,
		.wanted = 1,
		.has_room = true,
		.may_start = true};
	struct clv_rollout rollout = {0};

	/* There is nothing to go back to. */
	clv_rollout_update(&rollout, NEW);
	assert_int_equal(clv_rollout_next(&rollout, &look).act, CLV_ROLLOUT_REMOVE);
	assert_int_equal(rollout.generation, NEW);
	/* Nor after an update of what never was ready. */
	clv_rollout_update(&rollout, 3);
	assert_int_equal(rollout.previous, 0);
	replica = (struct clv_rollout_replica){CLV_REPLICA_READY, 3, false};
	assert_int_equal(clv_rollout_next(&rollout, &look).act, CLV_ROLLOUT_NOTHING);
	assert_true(rollout.is_proven);
	/* A replica of a proven generation that ends is replaced. */
	replica.state = CLV_REPLICA_FAILED;
	assert_int_equal(clv_rollout_next(&rollout, &look).act, CLV_ROLLOUT_REMOVE);
	clv_rollout_update(&rollout, 4);
	assert_int_equal(rollout.previous, 3);
}

/* --- Whole updates --- */

struct world {
	struct clv_rollout rollout;
	struct clv_rollout_replica replicas[16];
	size_t n;
	struct clv_rollout_look look;
	bool new_fails;
};

static uint32_t under(uint32_t bound)
{
	return (uint32_t)random() % bound;
}

static void carry_out(struct world *w, struct clv_rollout_step step)
{
	switch (step.act) {
	case CLV_ROLLOUT_START:
		assert_true(w->n < CLV_ARRAY_SIZE(w->replicas));
		w->replicas[w->n++] = (struct clv_rollout_replica){
			CLV_REPLICA_STARTING, w->rollout.generation, false};
		return;
	case CLV_ROLLOUT_DRAIN:
		w->replicas[step.at].state = CLV_REPLICA_DRAINING;
		return;
	case CLV_ROLLOUT_REMOVE:
		w->replicas[step.at] = w->replicas[--w->n];
		return;
	default:
		return;
	}
}

/* Something happens to one of the replicas. */
static void happen(struct world *w)
{
	struct clv_rollout_replica *replica;

	if (w->n == 0)
		return;
	replica = &w->replicas[under((uint32_t)w->n)];
	if (replica->state == CLV_REPLICA_STARTING)
		replica->state = replica->generation == NEW && w->new_fails
					 ? CLV_REPLICA_FAILED
					 : CLV_REPLICA_READY;
	else if (replica->state == CLV_REPLICA_DRAINING)
		replica->is_drained = true;
}

static unsigned n_ready(const struct world *w)
{
	unsigned n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += w->replicas[i].state == CLV_REPLICA_READY;
	return n;
}

static bool is_complete(const struct world *w)
{
	for (size_t i = 0; i < w->n; i++) {
		if (w->replicas[i].state != CLV_REPLICA_READY ||
			w->replicas[i].generation != w->rollout.generation)
			return false;
	}
	return w->n == w->look.wanted;
}

static void test_whole_updates(void **state)
{
	srandom(25);
	for (int i = 0; i < 2000; i++) {
		struct world w = {.rollout = {.generation = OLD, .is_proven = true}};
		unsigned wanted = 1 + under(5), least = wanted, steps = 0;

		w.new_fails = under(3) == 0;
		w.look = (struct clv_rollout_look){.replicas = w.replicas,
			.wanted = wanted,
			.n_slots = wanted + 2,
			.stops_first = under(2),
			.has_room = under(2),
			.may_start = true};
		for (w.n = 0; w.n < wanted; w.n++)
			w.replicas[w.n] = (struct clv_rollout_replica){
				CLV_REPLICA_READY, OLD, false};
		clv_rollout_update(&w.rollout, NEW);
		if (w.look.stops_first || !w.look.has_room)
			least--;
		while (!is_complete(&w)) {
			assert_true(steps++ < 1000);
			w.look.n = w.n;
			carry_out(&w, clv_rollout_next(&w.rollout, &w.look));
			if (under(2))
				happen(&w);
			assert_true(n_ready(&w) >= least);
			assert_true(w.n <= wanted + 2);
		}
		assert_int_equal(w.rollout.generation, w.new_fails ? OLD : NEW);
	}
}

static void test_backoff(void **state)
{
	struct clv_backoff backoff = {0};
	uint64_t now_ns = 0, pause_s = 1;

	for (int i = 0; i < 20; i++) {
		clv_backoff_fail(&backoff, now_ns);
		assert_int_equal(backoff.until_ns - now_ns,
			(pause_s < 300 ? pause_s : 300) * CLV_NS_PER_S);
		now_ns = backoff.until_ns;
		pause_s *= 2;
	}
	clv_backoff_succeed(&backoff, now_ns, now_ns + 59 * CLV_NS_PER_S);
	assert_int_equal(backoff.n_failures, 20);
	/* A replica that is older than the last failure of another one. */
	clv_backoff_fail(&backoff, now_ns);
	clv_backoff_succeed(&backoff, 0, now_ns + 59 * CLV_NS_PER_S);
	assert_int_equal(backoff.n_failures, 21);
	clv_backoff_succeed(&backoff, 0, now_ns + 60 * CLV_NS_PER_S);
	assert_int_equal(backoff.n_failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_first_generation),
		cmocka_unit_test(test_whole_updates),
		cmocka_unit_test(test_backoff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
