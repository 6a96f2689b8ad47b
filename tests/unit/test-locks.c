/* SPDX-License-Identifier: Apache-2.0 */
/* A real-time thread that submits waits for no thread of a lower priority than its own,
 * although another one holds a lock that the submission takes. */
#include "gate/opencl/queue/events.c"
#include "gate/process/call-lock.h"
#include "gate/process/thread.h"
#include "gate/queue/table.c"
#include "gate/streams/blocked-stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "inversion.h"

cl_icd_dispatch clv_real;
struct clv_queue clv_no_queue;
struct clv_gate_state clv_gate;
__thread struct clv_gate_thread clv_gate_thread = {.last_queue = &clv_no_queue};

void clv_helper_wake(void)
{
}

static struct clv_event_list list;
static struct clv_blocked stand;
static pthread_mutex_t *tested;

static void compute_with_lock(void)
{
	pthread_mutex_lock(tested);
	inversion_compute();
	pthread_mutex_unlock(tested);
}

static void take_lock(void)
{
	pthread_mutex_lock(tested);
	pthread_mutex_unlock(tested);
}

static struct clv_call_lock call_lock;

static void compute_in_call(void)
{
	clv_call_lock(&call_lock);
	inversion_compute();
	clv_call_unlock(&call_lock);
}

static void take_call_lock(void)
{
	if (clv_call_lock(&call_lock))
		clv_call_unlock(&call_lock);
}

static void test_call_lock(void **state)
{
	(void)state;
	inversion_test(compute_in_call, take_call_lock);
}

static void test_lock(void **state)
{
	tested = *state;
	inversion_test(compute_with_lock, take_lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{"the events of a queue", test_lock, NULL, NULL, &list.lock},
		{"the batches of events", test_lock, NULL, NULL, &pool.lock},
		{"the table of queues", test_lock, NULL, NULL, &change_lock},
		{"the waits of a stream", test_lock, NULL, NULL, &stand.lock},
		{"calls of the driver", test_call_lock, NULL, NULL, NULL},
	};

	clv_call_lock_init(&call_lock);
	clv_event_list_begin(&list);
	clv_blocked_begin(&stand);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
