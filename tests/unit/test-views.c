/* SPDX-License-Identifier: Apache-2.0 */
/* A process that changes from one agent's pages to the next's while its threads count:
 * the test is the attach handshake, and the threads. */
#include "gate/attach/attachment.c"
#include "gate/process/queue-record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define N_VIEWS 3

static struct clv_wiped_on_fork unattached;
struct clv_wiped_on_fork *clv_wiped_on_fork = &unattached;
struct clv_gate_state clv_gate;
struct clv_queue clv_no_queue;
__thread struct clv_gate_thread clv_gate_thread;

static struct clv_view all[N_VIEWS];
static struct clv_slot slots[N_VIEWS];
static unsigned n_attached, n_closed, n_forgotten;

enum clv_attachment clv_attach(
	uint32_t api, const struct clv_view *old, bool quiet, struct clv_view **ret)
{
	unsigned i = n_attached++ % N_VIEWS;

	slots[i] = (struct clv_slot){0};
	all[i] = (struct clv_view){
		.slot = &slots[i], .report_inode = i + 1, .report_device = 1};
	*ret = &all[i];
	return CLV_ATTACHED;
}

void clv_attach_close(const struct clv_view *view)
{
	n_closed++;
}

bool clv_attach_is_intact(const struct clv_view *view)
{
	return true;
}

void clv_helper_wake(void)
{
}

bool clv_helper_spawn(void *(*function)(void *))
{
	return false;
}

void clv_sm_tell_again(const struct clv_view *old, struct clv_view *view)
{
}

void clv_profile_open(void)
{
}

static void count_forgotten(void)
{
	n_forgotten++;
}

static const struct clv_gate_api api = {.forget_parent = count_forgotten};

static int begin(void **state)
{
	bool refused;

	clv_gate.api = &api;
	clv_wiped_on_fork = &unattached;
	memset(&unattached, 0, sizeof(unattached));
	atomic_store(&last_epoch, 0);
	atomic_store(&views.present, NULL);
	atomic_store(&views.retired, NULL);
	n_attached = n_closed = n_forgotten = 0;
	assert_non_null(clv_gate_view(&refused));
	return 0;
}

static void assert_counts(const struct clv_view *view, uint64_t entered, uint64_t done)
{
	assert_int_equal(atomic_load(&view->slot->entered), entered);
	assert_int_equal(atomic_load(&view->slot->done), done);
}

static void test_counts_go_over(void **state)
{
	struct clv_view *old = clv_gate_current_view();

	atomic_store(&old->slot->entered, 7);
	atomic_store(&old->slot->done, 5);
	atomic_store(&old->slot->memory_bytes, 4096);
	assert_true(replace_view(old));
	assert_counts(clv_gate_current_view(), 7, 5);
	assert_int_equal(atomic_load(&clv_gate_current_view()->slot->memory_bytes), 4096);
	assert_counts(old, 0, 0);
}

/* A thread looked up the old view and was then delayed until everything was moved. */
static void test_late_thread(void **state)
{
	struct clv_view *old = clv_gate_current_view(), *view;

	assert_true(replace_view(old));
	view = clv_gate_current_view();
	atomic_fetch_add(&old->slot->entered, 1);
	clv_gate_carry_leftovers();
	assert_counts(view, 1, 0);
	atomic_fetch_add(&view->slot->done, 1);
	clv_gate_carry_leftovers();
	assert_counts(view, 1, 1);

	/* The reverse: it leaves before the next check. */
	atomic_fetch_add(&old->slot->entered, 1);
	atomic_fetch_add(&view->slot->done, 1);
	atomic_fetch_add(&old->slot->memory_bytes, 64);
	clv_gate_carry_leftovers();
	assert_counts(view, 2, 2);
	assert_int_equal(atomic_load(&view->slot->memory_bytes), 64);
}

/* The agent gave its slot of a page in use to another process. */
static void test_same_page(void **state)
{
	struct clv_view *old = clv_gate_current_view();

	assert_true(replace_view(old));
	clv_gate_current_view()->report_inode = old->report_inode;
	clv_gate_current_view()->slot_index = old->slot_index + 1;
	atomic_fetch_add(&old->slot->entered, 1);
	clv_gate_carry_leftovers();
	assert_counts(clv_gate_current_view(), 0, 0);
	assert_counts(old, 1, 0);
}

/* The state after fork: the page that is wiped, and all other memory unchanged. */
static void test_child_closes_its_parents(void **state)
{
	bool refused;

	for (unsigned generation = 1; generation < 10; generation++) {
		memset(&unattached, 0, sizeof(unattached));
		assert_non_null(clv_gate_view(&refused));
		assert_int_equal(n_attached - n_closed, 1);
	}
	/* Also the views that the parent kept for threads that might still ring. */
	assert_true(replace_view(clv_gate_current_view()));
	assert_int_equal(n_attached - n_closed, 2);
	memset(&unattached, 0, sizeof(unattached));
	assert_non_null(clv_gate_view(&refused));
	assert_int_equal(n_attached - n_closed, 1);
}

/* A child forgets before it attaches, since what it made after the fork is its own. */
static void test_child_forgets_once(void **state)
{
	bool refused;

	memset(&unattached, 0, sizeof(unattached));
	on_fork();
	assert_int_equal(n_forgotten, 1);
	assert_non_null(clv_gate_view(&refused));
	assert_int_equal(n_forgotten, 1);
	/* A child that was not made by fork(). */
	memset(&unattached, 0, sizeof(unattached));
	assert_non_null(clv_gate_view(&refused));
	assert_int_equal(n_forgotten, 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_counts_go_over, begin),
		cmocka_unit_test_setup(test_late_thread, begin),
		cmocka_unit_test_setup(test_same_page, begin),
		cmocka_unit_test_setup(test_child_closes_its_parents, begin),
		cmocka_unit_test_setup(test_child_forgets_once, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
