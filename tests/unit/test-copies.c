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

#include <cmocka.h>

#define N_COPIES 64 /* that the account has room for */
#define MIB (UINT64_C(1) << 20)

static struct clv_queue first, second;
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
	first = second = (struct clv_queue){0};
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

static void fill(struct clv_queue *queue)
{
	for (int i = 0; i < N_COPIES; i++)
		assert_true(copy(queue));
}

/* Each takes one place for itself and one for its event. */
static void take_places(void **state)
{
	(void)state;
	fill(&first);
	assert_int_equal(first.n_others, 2 * N_COPIES);
	assert_int_equal(first.n_others_done, 0);
	assert_int_equal(first.n_uses, N_COPIES);
}

static void give_places_back(void **state)
{
	(void)state;
	fill(&first);
	assert_false(copy(&second));
	query_result = CLV_STREAM_SUCCESS;
	assert_true(copy(&first));
	assert_int_equal(first.n_others, 2 * (N_COPIES + 1));
	assert_int_equal(first.n_others_done, 2 * N_COPIES);
	assert_int_equal(first.n_uses, 1);
}

static void refused_ones_are_gone(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * N_COPIES; i++)
		clv_copies_return(clv_copies_take(&first, 1));
	record_result = CLV_STREAM_OUT_OF_MEMORY;
	for (int i = 0; i < 2 * N_COPIES; i++)
		assert_false(copy(&first));
	assert_int_equal(first.n_uses, 0);
	assert_false(clv_copies_are_out(&first));
}

static void end_with_their_context(void **state)
{
	(void)state;
	fill(&first);
	clv_copies_end_with(NULL, true);
	assert_int_equal(first.n_uses, 0);
	assert_false(clv_copies_are_out(&first));
	fill(&first);
}

static void are_bounded_in_bytes(void **state)
{
	(void)state;
	assert_null(clv_copies_take(&first, 65 * MIB));
	assert_non_null(clv_copies_take(&first, 40 * MIB));
	assert_null(clv_copies_take(&second, 25 * MIB));
	assert_non_null(clv_copies_take(&second, 24 * MIB));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(take_places, begin),
		cmocka_unit_test_setup(give_places_back, begin),
		cmocka_unit_test_setup(refused_ones_are_gone, begin),
		cmocka_unit_test_setup(end_with_their_context, begin),
		cmocka_unit_test_setup(are_bounded_in_bytes, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
