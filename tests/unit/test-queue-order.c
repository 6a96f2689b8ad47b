/* SPDX-License-Identifier: Apache-2.0 */
/* A queue does not change its order under the gate. */
#include "gate/opencl/queue/wrap-queue.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

cl_icd_dispatch clv_real;
_Atomic(void **) clv_vendor_table;
static struct clv_view view;
static struct clv_wiped_on_fork unattached;
struct clv_wiped_on_fork *clv_wiped_on_fork = &unattached;
static cl_command_queue_properties changed;

bool clv_vendor_gate_object(const void *object)
{
	return true;
}

struct clv_queue *clv_queue_find_known(const void *handle)
{
	return NULL;
}

struct clv_queue *clv_queue_find(const void *handle)
{
	return NULL;
}

struct clv_queue *clv_queue_add(const void *handle)
{
	return NULL;
}

void clv_queue_forget(struct clv_queue *queue)
{
}

void clv_queue_retain(const void *handle)
{
}

void clv_queue_release(const void *handle)
{
}

static cl_int CL_API_CALL change(cl_command_queue queue,
	cl_command_queue_properties properties, cl_bool enable,
	cl_command_queue_properties *before)
{
	changed |= properties;
	return CL_SUCCESS;
}

static cl_int set(cl_command_queue_properties properties, cl_bool enable)
{
	cl_icd_dispatch table = {0};

	clv_real.clSetCommandQueueProperty = change;
	clv_opencl_wrap_queues(&table);
	changed = 0;
	return (table.clSetCommandQueueProperty
			? table.clSetCommandQueueProperty
			: change)((cl_command_queue)&table, properties, enable, NULL);
}

static void test_order(void **state)
{
	const cl_command_queue_properties order = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;

	atomic_store(&unattached.view, &view);
	for (cl_bool enable = CL_FALSE; enable <= CL_TRUE; enable++) {
		assert_int_equal(set(order, enable), CL_INVALID_QUEUE_PROPERTIES);
		assert_int_equal(set(order | CL_QUEUE_PROFILING_ENABLE, enable),
			CL_INVALID_QUEUE_PROPERTIES);
		assert_int_equal(changed, 0);
	}
	assert_int_equal(set(CL_QUEUE_PROFILING_ENABLE, CL_TRUE), CL_SUCCESS);
	assert_int_equal(changed, CL_QUEUE_PROFILING_ENABLE);
}

static void test_without_a_lease(void **state)
{
	atomic_store(&unattached.view, NULL);
	assert_int_equal(
		set(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_TRUE), CL_SUCCESS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_without_a_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
