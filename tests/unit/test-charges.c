/* SPDX-License-Identifier: Apache-2.0 */
/* Charges by address, and their owners. */
#include "gate/attach/attachment.h"
#include "gate/memory/charges.h"
#include "gate/memory/ledger.h"
#include "gate/process/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#define N_BYTES ((uint64_t)1 << 20)

/* A ledger without a quota. */

static struct clv_view view;
static struct clv_wiped_on_fork forkless;
struct clv_wiped_on_fork *clv_wiped_on_fork = &forkless;
static uint64_t used_bytes;

struct clv_view *clv_gate_view(bool *ret_refused)
{
	*ret_refused = false;
	return &view;
}

bool clv_ledger_charge(uint64_t n_bytes)
{
	used_bytes += n_bytes;
	return true;
}

void clv_ledger_count_refusal(void)
{
}

void clv_ledger_release(uint64_t n_bytes, uint32_t epoch)
{
	used_bytes -= n_bytes;
}

bool clv_ledger_spill(uint64_t n_bytes)
{
	return false;
}

void clv_ledger_unspill(uint64_t n_bytes, uint32_t epoch)
{
}

bool clv_ledger_has_room(uint64_t n_bytes)
{
	return true;
}

uint32_t clv_ledger_epoch(void)
{
	return 1;
}

/* --- The tests --- */

static int memory, context, other;

static void charge(const void *owner)
{
	struct clv_charge charge = clv_charge_take(N_BYTES);

	charge.owner = owner;
	clv_charge_pointer(&charge, &memory);
	assert_int_equal(used_bytes, N_BYTES);
}

static void release_from(const void *owner)
{
	const struct clv_charge charge = clv_charge_withdraw_from(owner, &memory);

	clv_charge_undo(&charge);
}

static int end(void **state)
{
	clv_release_pointer(&memory);
	assert_int_equal(used_bytes, 0);
	return 0;
}

static void test_only_the_owner_frees(void **state)
{
	charge(&context);
	release_from(&other);
	assert_int_equal(used_bytes, N_BYTES);
	release_from(&context);
	assert_int_equal(used_bytes, 0);
}

/* A new context may be at the address of one that ended and left memory. */
static void test_a_new_owner_at_the_same_address(void **state)
{
	charge(&context);
	clv_charges_disown(&other);
	clv_charges_disown(&context);
	release_from(&context);
	assert_int_equal(used_bytes, N_BYTES);
}

static void test_owner_that_ends_frees(void **state)
{
	charge(&context);
	clv_charges_drop(&other);
	assert_int_equal(used_bytes, N_BYTES);
	clv_charges_drop(&context);
	assert_int_equal(used_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_only_the_owner_frees, end),
		cmocka_unit_test_teardown(test_a_new_owner_at_the_same_address, end),
		cmocka_unit_test_teardown(test_owner_that_ends_frees, end),
	};

	atomic_store(&forkless.pid, getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
