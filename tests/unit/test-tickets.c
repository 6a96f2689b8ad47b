/* SPDX-License-Identifier: Apache-2.0 */
/* The pointers that a vendor gets with a callback: valid for one call, and as many as are
 * needed. */
#include "gate/process/tickets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define N_MANY 1200000

static void a_ticket_is_good_for_one_call(void **state)
{
	int first, second;
	void *ticket = clv_ticket_new(&first), *next;

	assert_ptr_equal(clv_ticket_take(ticket), &first);
	assert_null(clv_ticket_take(ticket));
	next = clv_ticket_new(&second);
	assert_null(clv_ticket_take(ticket));
	assert_ptr_equal(clv_ticket_take(next), &second);
}

static void an_invalid_ticket_has_no_callback(void **state)
{
	assert_null(clv_ticket_take(NULL));
	assert_null(clv_ticket_take((void *)UINTPTR_MAX));
	assert_null(clv_ticket_take((void *)(uintptr_t)N_MANY));
}

/* More than any program needs at once; drivers have no limit. */
static void there_is_one_for_each_of_many(void **state)
{
	char *things = malloc(N_MANY);
	void **tickets = calloc(N_MANY, sizeof(*tickets));

	assert_non_null(things);
	assert_non_null(tickets);
	for (int i = 0; i < N_MANY; i++) {
		tickets[i] = clv_ticket_new(&things[i]);
		assert_non_null(tickets[i]);
	}
	for (int i = 0; i < N_MANY; i++)
		assert_ptr_equal(clv_ticket_take(tickets[i]), &things[i]);
	for (int i = 0; i < N_MANY; i++)
		assert_null(clv_ticket_take(tickets[i]));
	free(tickets);
	free(things);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ticket_is_good_for_one_call),
		cmocka_unit_test(an_invalid_ticket_has_no_callback),
		cmocka_unit_test(there_is_one_for_each_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
