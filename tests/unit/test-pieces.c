/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that another process of the lease has exported, and who pays for it when that
 * process's slot and pid are another's. */
#include "gate/memory/pieces.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define OWN_SLOT 0
#define OTHER_SLOT 1
#define OTHER_PID 4194303 /* the highest of Linux */
#define N_BYTES UINT64_C(4096)

static struct clv_wiped_on_fork attached;
struct clv_wiped_on_fork *clv_wiped_on_fork = &attached;

static struct clv_report_page report;
static struct clv_view own = {.report = &report, .slot_index = OWN_SLOT},
		       other = {.report = &report, .slot_index = OTHER_SLOT};
static uint64_t own_start = 50, other_start, charged_bytes;

bool __wrap_clv_proc_start(pid_t pid, uint64_t *ret_ticks);
bool __wrap_clv_proc_start(pid_t pid, uint64_t *ret_ticks)
{
	bool is_other =
		pid == OTHER_PID || (pid == 0 && clv_gate_current_view() == &other);

	*ret_ticks = is_other ? other_start : own_start;
	return *ret_ticks != 0;
}

uint32_t clv_ledger_epoch(void)
{
	return 1;
}

void clv_ledger_correct(uint64_t less_bytes, uint64_t more_bytes)
{
	charged_bytes += more_bytes - less_bytes;
}

void clv_charge_undo(const struct clv_charge *charge)
{
	if (charge->charged)
		charged_bytes -= charge->n_bytes;
}

/* The tests look themselves. */
bool clv_helper_spawn(void *(*function)(void *))
{
	return true;
}

/* The file of a piece that the other process has exported. */
static int export_by_other(void)
{
	int fd = memfd_create("piece", MFD_CLOEXEC);

	assert_true(fd >= 0);
	atomic_store(&attached.view, &other);
	clv_piece_add(7, &(struct clv_charge){.n_bytes = N_BYTES});
	clv_piece_exported(7, fd);
	/* Here begins another process. */
	free(pieces);
	free(exports);
	pieces = NULL;
	exports = NULL;
	atomic_store(&attached.view, &own);
	return fd;
}

static void import_and_map(int fd)
{
	struct clv_charge charge = {.n_bytes = N_BYTES};
	struct clv_mapping *mapping;

	clv_piece_imported(9, fd);
	charge.charged = !clv_piece_is_known(9);
	charged_bytes += charge.charged ? N_BYTES : 0;
	mapping = clv_mapping_new(1 << 20, N_BYTES, &charge);
	assert_non_null(mapping);
	clv_mapping_done(mapping, 9, true);
}

static void forget(int fd)
{
	clv_mappings_forget(1 << 20, N_BYTES);
	clv_piece_release(9);
	assert_null(imports);
	close(fd);
}

static int set_up(void **state)
{
	atomic_store(&report.slots[OWN_SLOT].pid, (uint32_t)getpid());
	atomic_store(&report.slots[OTHER_SLOT].pid, OTHER_PID);
	other_start = 100;
	charged_bytes = 0;
	return 0;
}

static void test_other_process_pays(void **state)
{
	int fd = export_by_other();

	import_and_map(fd);
	assert_true(check_imports());
	assert_int_equal(charged_bytes, 0);
	atomic_store(&report.slots[OTHER_SLOT].pid, 0);
	assert_false(check_imports());
	assert_int_equal(charged_bytes, N_BYTES);
	forget(fd);
}

/* The exporter has ended, and another process has its slot and its pid. */
static void test_reused_before_import(void **state)
{
	int fd = export_by_other();

	other_start = 200;
	import_and_map(fd);
	assert_int_equal(charged_bytes, N_BYTES);
	forget(fd);
}

static void test_reused_between_looks(void **state)
{
	int fd = export_by_other();

	import_and_map(fd);
	assert_int_equal(charged_bytes, 0);
	other_start = 200;
	assert_false(check_imports());
	assert_int_equal(charged_bytes, N_BYTES);
	forget(fd);
}

/* In a container pids are not those of the agent, so /proc says nothing of them. */
static void test_other_pids(void **state)
{
	int fd;

	atomic_store(&report.slots[OWN_SLOT].pid, (uint32_t)getpid() + 1);
	fd = export_by_other();
	other_start = 200;
	import_and_map(fd);
	assert_true(check_imports());
	assert_int_equal(charged_bytes, 0);
	forget(fd);
}

/* A process that has ended and whose slot the agent has not yet cleared. */
static void test_ended(void **state)
{
	int fd = export_by_other();

	import_and_map(fd);
	other_start = 0;
	assert_true(check_imports());
	assert_int_equal(charged_bytes, 0);
	forget(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_other_process_pays, set_up),
		cmocka_unit_test_setup(test_reused_before_import, set_up),
		cmocka_unit_test_setup(test_reused_between_looks, set_up),
		cmocka_unit_test_setup(test_other_pids, set_up),
		cmocka_unit_test_setup(test_ended, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
