/* SPDX-License-Identifier: Apache-2.0 */
/* Shares that are ranges: invariants of every second of any history, and the longest wait
 * of leases that want more and of idle ones. The device is a model: the rest is divided
 * by weight among the leases with work. */
#include "core/share/range.h"

#include "base/cleanup.h"
#include "base/units.h"

#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MEMBERS_MAX 12
#define SHARE(percent) ((percent)*CLV_PPM / 100)

struct world {
	struct clv_range_member members[MEMBERS_MAX];
	struct clv_range_watch watches[MEMBERS_MAX];
	uint32_t demand_ppm[MEMBERS_MAX];
	uint32_t used_ppm[MEMBERS_MAX];
	size_t n;
	uint32_t fixed_ppm; /* another lease with a fixed share, always busy */
	uint64_t random;
};

static uint32_t draw(struct world *world, uint32_t below)
{
	world->random =
		world->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((world->random >> 33) % below);
}

static struct clv_range_member *add(struct world *world, uint32_t least, uint32_t most)
{
	struct clv_range_member *member = &world->members[world->n];

	*member = (struct clv_range_member){
		.range = {SHARE(least), SHARE(most)},
		.watch = &world->watches[world->n],
		.share_ppm = SHARE(least),
	};
	world->n++;
	return member;
}

static uint64_t weight_of_hungry(const struct world *world)
{
	uint64_t weight = world->fixed_ppm;

	for (size_t i = 0; i < world->n; i++) {
		if (world->used_ppm[i] < world->demand_ppm[i])
			weight += world->members[i].share_ppm;
	}
	return weight;
}

/* By weight, repeatedly, until the device is full or no lease has work left. */
static void divide(struct world *world)
{
	uint64_t left = CLV_PPM;

	memset(world->used_ppm, 0, sizeof(world->used_ppm));
	for (unsigned round = 0; round < 64 && left > 0; round++) {
		uint64_t weight = weight_of_hungry(world), given = 0;

		if (weight == 0)
			break;
		given = left * world->fixed_ppm / weight;
		for (size_t i = 0; i < world->n; i++) {
			uint64_t part = left * world->members[i].share_ppm / weight;
			uint32_t wants = world->demand_ppm[i] - world->used_ppm[i];

			if (part > wants)
				part = wants;
			world->used_ppm[i] += (uint32_t)part;
			given += part;
		}
		if (given == 0)
			break;
		left -= given;
	}
}

static void check(const struct world *world)
{
	uint64_t sum = world->fixed_ppm, least = world->fixed_ppm;

	for (size_t i = 0; i < world->n; i++) {
		const struct clv_range_member *member = &world->members[i];

		assert_true(member->share_ppm >= member->range.least_ppm);
		assert_true(member->share_ppm <= member->range.most_ppm);
		sum += member->share_ppm;
		least += member->range.least_ppm;
	}
	assert_true(sum <= (least > CLV_PPM ? least : CLV_PPM));
}

static uint64_t room(const struct world *world)
{
	return CLV_PPM - world->fixed_ppm;
}

static void second(struct world *world)
{
	divide(world);
	for (size_t i = 0; i < world->n; i++) {
		bool is_starved = world->used_ppm[i] < world->demand_ppm[i];

		clv_range_record(&world->watches[i], world->members[i].share_ppm,
			world->used_ppm[i],
			is_starved ? CLV_PPM - world->used_ppm[i] : SHARE(2));
	}
	clv_range_move(world->members, world->n, room(world));
	check(world);
}

static void seconds(struct world *world, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		second(world);
}

static void test_busy_one_rises_to_its_most(void **state)
{
	struct world world = {.fixed_ppm = SHARE(40)};
	const struct clv_range_member *member = add(&world, 10, 60);

	world.demand_ppm[0] = CLV_PPM;
	seconds(&world, CLV_RANGE_RISES_AFTER_S - 1);
	assert_int_equal(member->share_ppm, SHARE(10));
	second(&world);
	assert_int_equal(member->share_ppm, SHARE(20));
	seconds(&world, 4);
	assert_int_equal(member->share_ppm, SHARE(60));
	seconds(&world, 100);
	assert_int_equal(member->share_ppm, SHARE(60));
}

static void test_idle_one_falls_to_its_least(void **state)
{
	struct world world = {.fixed_ppm = SHARE(40)};
	struct clv_range_member *member = add(&world, 10, 60);

	member->share_ppm = SHARE(60);
	seconds(&world, CLV_RANGE_FALLS_AFTER_S - 1);
	assert_int_equal(member->share_ppm, SHARE(60));
	seconds(&world, 5);
	assert_int_equal(member->share_ppm, SHARE(10));
}

static void test_a_pause_is_not_idleness(void **state)
{
	struct world world = {.fixed_ppm = SHARE(40)};
	struct clv_range_member *member = add(&world, 10, 60);

	member->share_ppm = SHARE(60);
	for (unsigned i = 0; i < 300; i++) {
		world.demand_ppm[0] = i % (CLV_RANGE_FALLS_AFTER_S - 1) ? 0 : SHARE(60);
		second(&world);
		assert_int_equal(member->share_ppm, SHARE(60));
	}
}

static void test_a_moment_is_not_demand(void **state)
{
	struct world world = {.fixed_ppm = SHARE(40)};
	const struct clv_range_member *member = add(&world, 10, 60);

	for (unsigned i = 0; i < 300; i++) {
		world.demand_ppm[0] = i % CLV_RANGE_RISES_AFTER_S ? CLV_PPM : 0;
		second(&world);
		assert_int_equal(member->share_ppm, SHARE(10));
	}
}

static void test_two_that_want_all_have_the_same(void **state)
{
	struct world world = {0};
	struct clv_range_member *first = add(&world, 10, 100);
	const struct clv_range_member *other = add(&world, 10, 100);

	first->share_ppm = SHARE(90);
	world.demand_ppm[0] = world.demand_ppm[1] = CLV_PPM;
	seconds(&world, CLV_RANGE_RISES_AFTER_S + 4);
	assert_int_equal(first->share_ppm, SHARE(50));
	assert_int_equal(other->share_ppm, SHARE(50));
	seconds(&world, 100);
	assert_int_equal(other->share_ppm, SHARE(50));
}

static void test_a_smaller_need_is_kept(void **state)
{
	struct world world = {0};
	struct clv_range_member *modest = add(&world, 10, 100);
	const struct clv_range_member *greedy = add(&world, 10, 100);

	modest->share_ppm = SHARE(70);
	world.demand_ppm[0] = SHARE(24);
	world.demand_ppm[1] = CLV_PPM;
	seconds(&world, 40);
	assert_in_range(modest->share_ppm, SHARE(28), SHARE(32));
	assert_int_equal(world.used_ppm[0], SHARE(24));
	assert_int_equal(greedy->share_ppm + modest->share_ppm, CLV_PPM);
}

static void test_fit_takes_from_the_largest(void **state)
{
	struct world world = {0};
	struct clv_range_member *large = add(&world, 10, 100);
	struct clv_range_member *small = add(&world, 10, 100);

	large->share_ppm = SHARE(80);
	small->share_ppm = SHARE(20);
	clv_range_fit(world.members, 2, SHARE(50));
	assert_int_equal(large->share_ppm, SHARE(30));
	assert_int_equal(small->share_ppm, SHARE(20));
	clv_range_fit(world.members, 2, SHARE(50));
	assert_int_equal(large->share_ppm, SHARE(30));
	/* An overcommitted device: the promises stay. */
	clv_range_fit(world.members, 2, SHARE(5));
	assert_int_equal(large->share_ppm, SHARE(10));
	assert_int_equal(small->share_ppm, SHARE(10));
}

static void make_random(struct world *world)
{
	uint32_t left = 100 - world->fixed_ppm / (CLV_PPM / 100);
	size_t n = 1 + draw(world, MEMBERS_MAX);

	while (world->n < n && left > 1) {
		uint32_t least = 1 + draw(world, left / 2 + 1);

		if (least > left)
			break;
		add(world, least, least + draw(world, 101 - least));
		left -= least;
	}
}

static void draw_demand(struct world *world)
{
	for (size_t i = 0; i < world->n; i++)
		world->demand_ppm[i] = draw(world, 3) == 0 ? CLV_PPM
				       : draw(world, 3)    ? draw(world, CLV_PPM)
							   : 0;
}

/* Long enough for each to rise or fall over the whole device, one after the other. */
#define SETTLES_IN_S 60

/* A lease that wants more must not have less than one that could give, and no room stays
 * free while a lease wants it. */
static void check_starved(const struct world *world, size_t i)
{
	const struct clv_range_member *member = &world->members[i];
	uint64_t sum = 0;

	if (!clv_range_wants_more(&world->watches[i]) ||
		member->share_ppm == member->range.most_ppm)
		return;
	for (size_t k = 0; k < world->n; k++) {
		const struct clv_range_member *other = &world->members[k];

		sum += other->share_ppm;
		assert_true(other->share_ppm <= member->share_ppm + 1 ||
			    other->share_ppm == other->range.least_ppm);
	}
	/* Rounding down to parts per million. */
	assert_true(room(world) - sum < world->n);
}

static void check_idle(const struct world *world, size_t i)
{
	const struct clv_range_member *member = &world->members[i];
	uint64_t share_ppm = member->share_ppm;
	uint64_t enough_ppm = (uint64_t)world->used_ppm[i] * CLV_RANGE_ROOM_PERCENT / 100;

	if (enough_ppm < member->range.least_ppm)
		enough_ppm = member->range.least_ppm;
	assert_true(share_ppm * CLV_RANGE_FALLS_BELOW_PERCENT / 100 <= enough_ppm + 2);
}

static void test_any_constant_demand_comes_to_rest(void **state)
{
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		struct world world = {.random = seed * 7919};
		uint32_t shares[MEMBERS_MAX];

		world.fixed_ppm = SHARE(draw(&world, 60));
		make_random(&world);
		for (unsigned phase = 0; phase < 3; phase++) {
			draw_demand(&world);
			seconds(&world, SETTLES_IN_S);
			for (size_t i = 0; i < world.n; i++) {
				shares[i] = world.members[i].share_ppm;
				check_starved(&world, i);
				check_idle(&world, i);
			}
			for (unsigned s = 0; s < 30; s++) {
				second(&world);
				for (size_t i = 0; i < world.n; i++)
					assert_int_equal(
						shares[i], world.members[i].share_ppm);
			}
		}
	}
}

static void test_any_history_keeps_the_bounds(void **state)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct world world = {.random = seed * 104729};

		make_random(&world);
		for (unsigned s = 0; s < 300; s++) {
			if (draw(&world, 4) == 0)
				draw_demand(&world);
			second(&world);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_busy_one_rises_to_its_most),
		cmocka_unit_test(test_idle_one_falls_to_its_least),
		cmocka_unit_test(test_a_pause_is_not_idleness),
		cmocka_unit_test(test_a_moment_is_not_demand),
		cmocka_unit_test(test_two_that_want_all_have_the_same),
		cmocka_unit_test(test_a_smaller_need_is_kept),
		cmocka_unit_test(test_fit_takes_from_the_largest),
		cmocka_unit_test(test_any_constant_demand_comes_to_rest),
		cmocka_unit_test(test_any_history_keeps_the_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
