/* SPDX-License-Identifier: Apache-2.0 */
/* With what code memory objects are refused that the quota has no room for. */
#include "gate/memory/charges.h"
#include "gate/memory/ledger.h"
#include "gate/opencl/device/devices.h"
#include "gate/opencl/dispatch/real.h"
#include "gate/opencl/dispatch/vendors.h"
#include "gate/opencl/dispatch/wrap.h"
#include "gate/opencl/memory/objects.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define QUOTA 1000
#define VENDORS_MAX 50000

cl_icd_dispatch clv_real;
_Atomic(void **) clv_vendor_table;
static cl_icd_dispatch wrappers;
static uint64_t used;

bool clv_vendor_take_object(const void *object)
{
	return true;
}

uint64_t clv_device_max_allocation_bytes(cl_context context)
{
	return VENDORS_MAX;
}

uint64_t clv_ledger_quota_bytes(void)
{
	return QUOTA;
}

uint64_t clv_object_bytes(uint64_t n_bytes)
{
	return n_bytes;
}

struct clv_charge clv_charge_take(uint64_t n_bytes)
{
	return (struct clv_charge){.n_bytes = n_bytes, .refused = used + n_bytes > QUOTA};
}

cl_mem clv_charge_settle(
	struct clv_charge *charge, cl_mem object, bool correct, cl_int *error)
{
	return object;
}

static cl_mem CL_API_CALL create_buffer(
	cl_context context, cl_mem_flags flags, size_t n, void *host, cl_int *error)
{
	*error = n > VENDORS_MAX ? CL_INVALID_BUFFER_SIZE : CL_SUCCESS;
	return n > VENDORS_MAX ? NULL : (cl_mem)(uintptr_t)64;
}

static cl_int code_of_buffer(size_t n)
{
	cl_int r = CL_INVALID_VALUE;
	cl_mem made = wrappers.clCreateBuffer(NULL, 0, n, NULL, &r);

	assert_int_equal(made != NULL, r == CL_SUCCESS);
	return r;
}

static int begin(void **state)
{
	clv_real.clCreateBuffer = create_buffer;
	clv_opencl_wrap_memory(&wrappers);
	used = 0;
	return 0;
}

static void test_buffer_that_fits(void **state)
{
	assert_int_equal(code_of_buffer(QUOTA), CL_SUCCESS);
}

static void test_no_room_left(void **state)
{
	used = 1;
	assert_int_equal(code_of_buffer(QUOTA), CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

/* What CL_DEVICE_MAX_MEM_ALLOC_SIZE says to the program. */
static void test_larger_than_the_device_says(void **state)
{
	assert_int_equal(code_of_buffer(QUOTA + 1), CL_INVALID_BUFFER_SIZE);
	assert_int_equal(code_of_buffer(VENDORS_MAX + 1), CL_INVALID_BUFFER_SIZE);
}

static void test_image_has_no_limit_in_bytes(void **state)
{
	const cl_image_format format = {CL_RGBA, CL_FLOAT};
	cl_int r = CL_SUCCESS;

	assert_null(wrappers.clCreateImage2D(NULL, 0, &format, QUOTA, 1, 0, NULL, &r));
	assert_int_equal(r, CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_buffer_that_fits, begin),
		cmocka_unit_test_setup(test_no_room_left, begin),
		cmocka_unit_test_setup(test_larger_than_the_device_says, begin),
		cmocka_unit_test_setup(test_image_has_no_limit_in_bytes, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
