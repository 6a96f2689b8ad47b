/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of several threads: they may record their commands in another order than the
 * driver has them, so the event of the command recorded last says nothing about
 * others. */
#include "gate/process/queue-record.h"
#include "gate/process/state.h"
#include "gate/queue/table.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct clv_queue clv_no_queue;
struct clv_gate_state clv_gate;
__thread struct clv_gate_thread clv_gate_thread = {.last_queue = &clv_no_queue};

static void begin(struct clv_queue *queue)
{
}

static const struct clv_queue_ops queues = {
	.record_bytes = sizeof(struct clv_queue), .begin = begin};
static const struct clv_gate_api api = {.queues = &queues};

static int handles[4];

/* A call that submits work. */
static void *use(void *handle)
{
	return clv_queue_find(handle);
}

static void *create(void *handle)
{
	return clv_queue_add(handle);
}

static struct clv_queue *in_a_thread(void *(*function)(void *handle), void *handle)
{
	pthread_t thread;
	void *found = NULL;

	assert_int_equal(pthread_create(&thread, NULL, function, handle), 0);
	pthread_join(thread, &found);
	return found;
}

static bool has_several(struct clv_queue *queue)
{
	return atomic_load(&queue->has_several_users);
}

static void test_one_thread(void **state)
{
	struct clv_queue *queue = use(&handles[0]);

	for (int i = 0; i < 3; i++)
		assert_ptr_equal(use(&handles[0]), queue);
	assert_false(has_several(queue));
}

/* The creator of a queue need not be its user. */
static void test_made_elsewhere(void **state)
{
	struct clv_queue *queue = in_a_thread(create, &handles[1]);

	use(&handles[1]);
	use(&handles[1]);
	assert_false(has_several(queue));
}

/* A child of fork() has no record of a queue that its parent made. */
static void test_made_by_a_user(void **state)
{
	struct clv_queue *queue = use(&handles[3]);

	assert_false(has_several(queue));
	assert_ptr_equal(in_a_thread(use, &handles[3]), queue);
	assert_true(has_several(queue));
}

static void test_two_threads(void **state)
{
	struct clv_queue *queue = use(&handles[0]);

	assert_ptr_equal(in_a_thread(use, &handles[0]), queue);
	assert_true(has_several(queue));
	use(&handles[0]);
	assert_true(has_several(queue));
}

/* A released queue's record is reused, with new users. */
static void test_record_is_used_again(void **state)
{
	struct clv_queue *queue = use(&handles[0]);

	assert_true(has_several(queue));
	clv_table_remove(queue);
	assert_ptr_equal(use(&handles[2]), queue);
	use(&handles[2]);
	assert_false(has_several(queue));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_thread),
		cmocka_unit_test(test_made_elsewhere),
		cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_record_is_used_again),
		cmocka_unit_test(test_made_by_a_user),
	};

	clv_gate.api = &api;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
