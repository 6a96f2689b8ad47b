/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that are not counted as work, and the places in their streams. */
#include "gate/streams/copies.h"

#include "gate/process/queue-record.h"
#include "gate/queue/queues.h"
#include "gate/queue/table.h"
#include "gate/streams/capture.h"
#include "gate/streams/context.h"
#include "gate/streams/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define N_COPIES 64 /* that the account has room for */
#define N_OF_QUEUE 16
#define N_QUEUES (N_COPIES / N_OF_QUEUE)
#define MIB (UINT64_C(1) << 20)

static struct clv_queue queues[N_QUEUES], another;
static int n_events, query_result, record_result;

static int make_event(void **ret, unsigned int flags)
{
	static char events[3 * N_COPIES];

	(void)flags;
	*ret = &events[n_events++];
	return CLV_STREAM_SUCCESS;
}

static int record(void *event, void *stream)
{
	(void)event;
	(void)stream;
	return record_result;
}

static int query(void *event)
{
	(void)event;
	return query_result;
}

static void destroy(void *event)
{
	(void)event;
}

static const struct clv_stream_driver driver = {
	.make_event = make_event, .record = record, .query = query, .destroy = destroy};
const struct clv_stream_driver *clv_stream_driver = &driver;

void clv_relax_begin(struct clv_relaxation *relaxation)
{
	(void)relaxation;
}

void clv_relax_end(struct clv_relaxation *relaxation)
{
	(void)relaxation;
}

bool clv_visit_begin(struct clv_visit *visit, void *context)
{
	(void)visit;
	(void)context;
	return true;
}

void clv_visit_end(const struct clv_visit *visit)
{
	(void)visit;
}

uint64_t clv_queue_count_others(struct clv_queue *queue, uint32_t n)
{
	return atomic_fetch_add(&queue->n_others, n) + n;
}

uint32_t clv_queue_copies_max(void)
{
	return N_OF_QUEUE;
}

void clv_queue_others_done(struct clv_queue *queue, uint64_t n)
{
	if (n > atomic_load(&queue->n_others_done))
		atomic_store(&queue->n_others_done, n);
}

void clv_table_use(struct clv_queue *queue)
{
	atomic_fetch_add(&queue->n_uses, 1);
}

void clv_table_unuse(struct clv_queue *queue)
{
	assert_int_not_equal(atomic_fetch_sub(&queue->n_uses, 1), 0);
}

static int begin(void **state)
{
	(void)state;
	clv_copies_forget_parent();
	memset(queues, 0, sizeof(queues));
	another = (struct clv_queue){0};
	n_events = 0;
	query_result = CLV_STREAM_NOT_READY;
	record_result = CLV_STREAM_SUCCESS;
	return 0;
}

static bool copy(struct clv_queue *queue)
{
	struct clv_copy *taken = clv_copies_take(queue, 1);

	return taken && clv_copies_mark(taken, queue);
}

static void fill_queue(struct clv_queue *queue)
{
	for (int i = 0; i < N_OF_QUEUE; i++)
		assert_true(copy(queue));
}

static void fill_account(void)
{
	for (int i = 0; i < N_QUEUES; i++)
		fill_queue(&queues[i]);
}

/* Each takes one place for itself and one for its event. */
static void take_places(void **state)
{
	(void)state;
	fill_queue(&queues[0]);
	assert_int_equal(queues[0].n_others, 2 * N_OF_QUEUE);
	assert_int_equal(queues[0].n_others_done, 0);
	assert_int_equal(queues[0].n_uses, N_OF_QUEUE);
}

static void give_places_back(void **state)
{
	(void)state;
	fill_account();
	assert_false(copy(&another));
	query_result = CLV_STREAM_SUCCESS;
	assert_true(copy(&queues[0]));
	assert_int_equal(queues[0].n_others, 2 * (N_OF_QUEUE + 1));
	assert_int_equal(queues[0].n_others_done, 2 * N_OF_QUEUE);
	assert_int_equal(queues[0].n_uses, 1);
}

/* A program may fill a queue with copies, and events behind all of them would take the
 * places of others. */
static void are_few_of_a_queue(void **state)
{
	(void)state;
	fill_queue(&queues[0]);
	assert_false(copy(&queues[0]));
	assert_int_equal(queues[0].n_others, 2 * N_OF_QUEUE);
	assert_true(copy(&queues[1]));
	query_result = CLV_STREAM_SUCCESS;
	assert_true(copy(&queues[0]));
}

static void refused_ones_are_gone(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * N_COPIES; i++)
		clv_copies_return(clv_copies_take(&another, 1));
	record_result = CLV_STREAM_OUT_OF_MEMORY;
	for (int i = 0; i < 2 * N_COPIES; i++)
		assert_false(copy(&another));
	assert_int_equal(another.n_uses, 0);
	assert_false(clv_copies_are_out(&another));
}

static void end_with_their_context(void **state)
{
	(void)state;
	fill_account();
	clv_copies_end_with(NULL, true);
	assert_int_equal(queues[0].n_uses, 0);
	assert_false(clv_copies_are_out(&queues[0]));
	fill_account();
}

static void are_bounded_in_bytes(void **state)
{
	(void)state;
	assert_null(clv_copies_take(&another, 65 * MIB));
	assert_non_null(clv_copies_take(&another, 40 * MIB));
	assert_null(clv_copies_take(&queues[0], 25 * MIB));
	assert_non_null(clv_copies_take(&queues[0], 24 * MIB));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(take_places, begin),
		cmocka_unit_test_setup(give_places_back, begin),
		cmocka_unit_test_setup(are_few_of_a_queue, begin),
		cmocka_unit_test_setup(refused_ones_are_gone, begin),
		cmocka_unit_test_setup(end_with_their_context, begin),
		cmocka_unit_test_setup(are_bounded_in_bytes, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
