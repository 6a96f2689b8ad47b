/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of markers: oldest first, with some taken out of the middle. */
#include "gate/queue/markers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static struct clv_queue one = {.context = &one}, other = {.context = &other};

static int begin(void **state)
{
	clv_markers_forget();
	return 0;
}

static void push(struct clv_queue *queue, uintptr_t event)
{
	const struct clv_marker marker = {.queue = queue, .event = (void *)event};

	assert_true(clv_markers_push(&marker));
}

static uintptr_t pop(void)
{
	struct clv_marker marker;

	return clv_marker_pop(&marker) ? (uintptr_t)marker.event : 0;
}

static void test_taken_out_of_the_middle(void **state)
{
	struct clv_marker taken[4];
	struct clv_marker_filter filter = {.queue = &other};

	for (uintptr_t i = 1; i <= 6; i++) {
		if (i == 5)
			filter.before = clv_markers_serial();
		push(i % 2 ? &one : &other, i);
	}
	assert_int_equal(clv_markers_take(&filter, taken, 4), 2);
	assert_int_equal((uintptr_t)taken[0].event, 2);
	assert_int_equal((uintptr_t)taken[1].event, 4);
	assert_int_equal(clv_markers_n(), 4);
	for (uintptr_t i = 1; i <= 5; i += 2)
		assert_int_equal(pop(), i);
	assert_int_equal(pop(), 6);
	assert_int_equal(pop(), 0);
}

static void test_put_back(void **state)
{
	const struct clv_marker_filter filter = {.context = &other, .before = UINT64_MAX};
	struct clv_marker taken;

	for (uintptr_t i = 1; i <= CLV_MARKERS_MANY; i++)
		push(i == 3 ? &other : &one, i);
	assert_int_equal(clv_markers_take(&filter, &taken, 1), 1);
	push(&one, CLV_MARKERS_MANY + 1);
	assert_true(clv_markers_put_first(&taken));
	assert_int_equal(clv_markers_take(&filter, &taken, 1), 1);
	assert_true(clv_markers_put_first(&taken));
	assert_int_equal(pop(), 3);
	for (uintptr_t i = 1; i <= CLV_MARKERS_MANY + 1; i++) {
		if (i != 3)
			assert_int_equal(pop(), i);
	}
	assert_int_equal(pop(), 0);
}

/* While the helper waits for the oldest, any number may come and go behind it. */
static void test_holes_take_no_room(void **state)
{
	const struct clv_marker_filter filter = {.queue = &other, .before = UINT64_MAX};
	struct clv_marker taken;

	push(&one, 1);
	for (uintptr_t i = 0; i < 20 * CLV_MARKERS_MANY; i++) {
		push(&other, 2);
		assert_int_equal(clv_markers_take(&filter, &taken, 1), 1);
		assert_int_equal(clv_markers_n(), 1);
	}
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_taken_out_of_the_middle, begin),
		cmocka_unit_test_setup(test_holes_take_no_room, begin),
		/* Last: a ring that has grown is forgotten without being freed, as in a
		 * forked child. */
		cmocka_unit_test_setup(test_put_back, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
