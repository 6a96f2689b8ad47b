/* SPDX-License-Identifier: Apache-2.0 */
/* How long threads wait for an event that another thread is recording in the legacy
 * stream, by a clock that goes on only while they wait. */
#include "base/clock.h"

#include <sched.h>

static uint64_t now_ns = 1;

static uint64_t virtual_ns(void)
{
	return now_ns;
}

static void (*while_waiting)(void);

static int wait_a_moment(void)
{
	now_ns += CLV_NS_PER_MS;
	if (while_waiting)
		while_waiting();
	return 0;
}

#define clv_clock_ns virtual_ns
#define sched_yield wait_a_moment
#include "gate/streams/legacy.c"
#undef clv_clock_ns
#undef sched_yield

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "inversion.h"

#define WAIT_MS 1000

static char context;
static struct clv_wiped_on_fork attached;
struct clv_wiped_on_fork *clv_wiped_on_fork = &attached;
__thread struct clv_gate_thread clv_gate_thread;

void *clv_context(void)
{
	return &context;
}

void clv_relax_begin(struct clv_relaxation *relaxation)
{
}

void clv_relax_end(struct clv_relaxation *relaxation)
{
}

/* What other threads do while one records an event. */
static void (*while_recording)(void);
static void *recorded_in;

static int record(void *event, void *stream)
{
	recorded_in = stream;
	if (while_recording)
		while_recording();
	return CLV_STREAM_SUCCESS;
}

static void (*while_making)(void);

static int make_blocking(void **ret)
{
	static char aside;

	if (while_making)
		while_making();
	*ret = &aside;
	return CLV_STREAM_SUCCESS;
}

static const struct clv_stream_driver driver = {
	.legacy = (void *)1, .record = record, .make_blocking = make_blocking};
const struct clv_stream_driver *clv_stream_driver = &driver;

static uint64_t waited_ms(void)
{
	static uint64_t last_ns = 1;
	uint64_t ms = (now_ns - last_ns) / CLV_NS_PER_MS;

	last_ns = now_ns;
	return ms;
}

static void submit_many(void)
{
	struct clv_legacy *legacy = clv_legacy_of(&context);

	while_recording = NULL;
	clv_legacy_submit_blocking(legacy);
	assert_int_equal(waited_ms(), WAIT_MS);
	for (int i = 0; i < 20; i++)
		clv_legacy_submit_blocking(legacy);
	assert_int_equal(waited_ms(), 0);
	/* Other events are not recorded there, and wait for nothing. */
	assert_int_equal(clv_legacy_record(legacy, NULL), CLV_STREAM_SUCCESS);
	assert_ptr_not_equal(recorded_in, driver.legacy);
}

/* The driver's call blocks: a second in all, however many submissions there are. */
static void test_stuck(void **state)
{
	struct clv_legacy *legacy = clv_legacy_of(&context);

	while_recording = submit_many;
	assert_int_equal(clv_legacy_record(legacy, NULL), CLV_STREAM_SUCCESS);
	/* The next context at this address. */
	clv_legacy_forget(&context);
	while_recording = submit_many;
	assert_int_equal(clv_legacy_record(legacy, NULL), CLV_STREAM_SUCCESS);
	clv_legacy_forget(&context);
}

static void end_soon(void)
{
	if (now_ns % (10 * CLV_NS_PER_MS) == 1)
		end_mark(clv_legacy_of(&context));
}

/* The event that is waited for was recorded before the submission returns. */
static void test_slow(void **state)
{
	struct clv_legacy *legacy = clv_legacy_of(&context);

	assert_true(begin_mark(legacy));
	while_waiting = end_soon;
	clv_legacy_submit_blocking(legacy);
	while_waiting = NULL;
	assert_int_equal(atomic_load(&legacy->n_marking), 0);
	assert_in_range(waited_ms(), 1, 10);
	clv_legacy_forget(&context);
}

static void record_aside(void)
{
	clv_legacy_record(clv_legacy_of(&context), NULL);
}

static void compute_once(void)
{
	while_making = NULL;
	inversion_compute();
}

/* The thread that makes the stream for the events is not scheduled. */
static void test_no_priority_inversion(void **state)
{
	while_recording = NULL;
	clv_legacy_note_blocking();
	while_making = compute_once;
	inversion_test(record_aside, record_aside);
	clv_legacy_forget(&context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stuck),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_no_priority_inversion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
