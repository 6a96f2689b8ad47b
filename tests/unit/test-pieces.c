/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is exported as files, and imported from them: who pays for it, until
 * when. */
#include "gate/memory/pieces.c"

#include "arbiter/attach.h"
#include "base/watched.h"
#include "gate/attach/attach.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include <cmocka.h>

#define OWN_SLOT 0
#define OTHER_SLOT 1
#define N_BYTES UINT64_C(4096)

static struct clv_wiped_on_fork attached;
struct clv_wiped_on_fork *clv_wiped_on_fork = &attached;

static struct clv_control_page control;
static struct clv_report_page report;
static struct clv_view own = {.control = &control,
			       .report = &report,
			       .slot_index = OWN_SLOT,
			       .report_inode = 7},
		       other = {.control = &control,
			       .report = &report,
			       .slot_index = OTHER_SLOT,
			       .report_inode = 7};
static uint64_t charged_bytes;
static int told_fd = -1;
static bool is_deaf;

void clv_charge_undo(const struct clv_charge *charge)
{
	if (charge->charged)
		charged_bytes -= charge->n_bytes;
}

/* The allocation at ALLOCATED, if it is charged by its address. */
#define ALLOCATED UINT64_C(0x7000000)

static bool is_allocated;

struct clv_charge clv_charge_withdraw_around(const void *address, const void **ret_base)
{
	struct clv_charge charge = {.n_bytes = N_BYTES, .charged = true};

	if (!is_allocated || (uintptr_t)address - ALLOCATED >= N_BYTES)
		return (struct clv_charge){0};
	is_allocated = false;
	*ret_base = (const void *)(uintptr_t)ALLOCATED;
	return charge;
}

bool clv_attach_tell(
	const struct clv_view *view, const void *message, size_t n_bytes, const int *fd)
{
	const struct clv_attach_exports *exports = message;

	assert_int_equal(exports->magic, CLV_ATTACH_EXPORTS_MAGIC);
	assert_int_equal(n_bytes, sizeof(*exports));
	if (!is_deaf)
		told_fd = *fd;
	return !is_deaf;
}

void clv_attach_wait_for_room(const struct clv_view *view, int timeout_ms)
{
}

static int new_file(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void make(uint64_t handle)
{
	charged_bytes += N_BYTES;
	clv_piece_add(handle, &(struct clv_charge){.n_bytes = N_BYTES, .charged = true});
}

/* The file of a piece that the other process has exported, which has ended or not: what
 * is left of it here is the agent's list of files. */
static int export_by_other(void)
{
	int fd = new_file();

	atomic_store(&attached.view, &other);
	make(7);
	assert_true(clv_piece_exported(7, fd));
	/* Here begins another process. */
	free(pieces);
	pieces = NULL;
	charged_bytes = 0;
	told_fd = dup(told_fd);
	clv_exports_forget_parent();
	atomic_store(&attached.view, &own);
	return fd;
}

static bool import_and_map(int fd)
{
	struct clv_charge charge = {.n_bytes = N_BYTES};
	struct clv_mapping *mapping;

	assert_true(clv_piece_imported(9, fd));
	charge.charged = !clv_piece_is_known(9);
	charged_bytes += charge.charged ? N_BYTES : 0;
	mapping = clv_mapping_new(1 << 20, N_BYTES, &charge);
	assert_non_null(mapping);
	clv_mapping_done(mapping, 9, true);
	return charge.charged;
}

static void count(uint64_t data, void *userdata)
{
	*(uint64_t *)userdata += CLV_ATTACH_EXPORT_BYTES(data);
}

/* What the agent sees of the other process's files. */
static uint64_t left_bytes(void)
{
	uint64_t n_bytes = 0;

	assert_true(clv_watched_visit(told_fd, count, &n_bytes));
	return n_bytes;
}

static int set_up(void **state)
{
	atomic_store(&attached.view, &own);
	charged_bytes = 0;
	is_deaf = false;
	return 0;
}

static void test_other_process_pays(void **state)
{
	int fd = export_by_other();

	assert_false(import_and_map(fd));
	close(fd);
	assert_int_equal(charged_bytes, 0);
	assert_int_equal(left_bytes(), N_BYTES);
	clv_piece_release(9);
	assert_int_equal(left_bytes(), N_BYTES);
	clv_mappings_forget(1 << 20, N_BYTES);
	assert_null(imports);
	assert_int_equal(left_bytes(), 0);
}

/* Its file can be passed on instead, and has a mark. */
static void test_imported_is_not_exported(void **state)
{
	int fd = export_by_other(), again = new_file();

	assert_false(import_and_map(fd));
	assert_false(clv_piece_exported(9, again));
	clv_mappings_forget(1 << 20, N_BYTES);
	clv_piece_release(9);
	close(again);
	close(fd);
}

/* From outside the lease: a file without a mark, or with one of another lease. */
static void test_from_outside(void **state)
{
	int fd;

	other.report_inode = 8;
	fd = export_by_other();
	other.report_inode = 7;
	assert_true(import_and_map(fd));
	assert_int_equal(charged_bytes, N_BYTES);
	/* That lease pays as long as the memory lives. */
	close(fd);
	assert_int_equal(left_bytes(), N_BYTES);
	clv_mappings_forget(1 << 20, N_BYTES);
	clv_piece_release(9);
	assert_int_equal(left_bytes(), 0);
	assert_int_equal(charged_bytes, 0);
	fd = new_file();
	assert_true(import_and_map(fd));
	clv_mappings_forget(1 << 20, N_BYTES);
	clv_piece_release(9);
	assert_int_equal(charged_bytes, 0);
	close(fd);
}

static void test_own_files(void **state)
{
	int fd = new_file(), second = new_file(), copy;

	make(7);
	assert_true(clv_piece_exported(7, fd));
	assert_true(clv_piece_exported(7, second));
	copy = dup(fd);
	clv_piece_release(7);
	close(fd);
	assert_false(clv_pieces_settle());
	close(copy);
	assert_false(clv_pieces_settle());
	assert_int_equal(charged_bytes, N_BYTES);
	close(second);
	assert_true(clv_pieces_settle());
	assert_int_equal(charged_bytes, 0);
}

/* The driver uses the number of a handle again while a file has the memory. */
static void test_reused_handle(void **state)
{
	int own_fd = new_file(), fd = export_by_other();

	make(9);
	assert_true(clv_piece_exported(9, own_fd));
	clv_piece_release(9);
	assert_false(import_and_map(fd));
	close(fd);
	assert_int_equal(charged_bytes, N_BYTES);
	assert_int_equal(left_bytes(), N_BYTES);
	clv_piece_release(9);
	clv_mappings_forget(1 << 20, N_BYTES);
	assert_int_equal(charged_bytes, N_BYTES);
	close(own_fd);
	assert_true(clv_pieces_settle());
	assert_int_equal(charged_bytes, 0);
}

/* Without the agent the memory would be charged to none after this process. */
static void test_agent_does_not_know(void **state)
{
	int refused = new_file(), fd = new_file();

	clv_exports_forget_parent();
	is_deaf = true;
	make(7);
	assert_false(clv_piece_exported(7, refused));
	close(refused);
	atomic_store(&control.beacon.word, CLV_BEACON_DEAD);
	assert_true(clv_piece_exported(7, fd));
	atomic_store(&control.beacon.word, 0);
	is_deaf = false;
	told_fd = -1;
	clv_exports_tell_again(&other);
	assert_true(told_fd >= 0);
	close(fd);
	clv_piece_release(7);
	clv_pieces_settle();
	assert_int_equal(charged_bytes, 0);
}

/* A dma-buf of a part of an allocation: the charge is gone when the allocation is freed
 * and no file is left, in whatever order. */
static void test_dma_buf(void **state)
{
	for (int is_freed_first = 0; is_freed_first < 2; is_freed_first++) {
		int fd = new_file(), second = new_file();

		is_allocated = true;
		charged_bytes = N_BYTES;
		assert_int_equal(
			clv_piece_range_exported(ALLOCATED + 64, fd), CLV_RANGE_KEPT);
		assert_int_equal(
			clv_piece_range_exported(ALLOCATED, second), CLV_RANGE_KEPT);
		if (is_freed_first)
			clv_piece_allocation_freed(ALLOCATED);
		close(fd);
		clv_pieces_settle();
		assert_int_equal(charged_bytes, N_BYTES);
		close(second);
		clv_pieces_settle();
		assert_int_equal(charged_bytes, is_freed_first ? 0 : N_BYTES);
		clv_piece_allocation_freed(ALLOCATED);
		assert_int_equal(charged_bytes, 0);
	}
}

static void test_dma_buf_of_mapping(void **state)
{
	struct clv_charge none = {0};
	int fd = new_file();

	make(7);
	clv_mapping_done(clv_mapping_new(1 << 20, N_BYTES, &none), 7, true);
	clv_piece_release(7);
	assert_int_equal(clv_piece_range_exported((1 << 20) + 64, fd), CLV_RANGE_KEPT);
	clv_mappings_forget(1 << 20, N_BYTES);
	clv_pieces_settle();
	assert_int_equal(charged_bytes, N_BYTES);
	assert_int_equal(clv_piece_range_exported((1 << 20) + 64, fd), CLV_RANGE_UNKNOWN);
	close(fd);
	clv_pieces_settle();
	assert_int_equal(charged_bytes, 0);
}

/* A program that closes descriptors that it does not know. */
static void test_closed_list(void **state)
{
	int fd = new_file(), second = new_file();

	make(7);
	make(8);
	assert_true(clv_piece_exported(7, fd));
	close(told_fd);
	assert_false(clv_pieces_settle());
	assert_true(clv_piece_exported(8, second));
	close(fd);
	close(second);
	clv_piece_release(7);
	clv_piece_release(8);
	assert_true(clv_pieces_settle());
	/* The first one stays charged, because nothing shows its end. */
	assert_int_equal(charged_bytes, N_BYTES);
}

/* The number of the list is that of one of the program's own, which gets nothing of the
 * gate's, and says nothing about files. */
static void test_another_list(void **state)
{
	int fd = new_file(), second = new_file(), list;
	uint64_t n_bytes = 0;

	make(7);
	make(8);
	assert_true(clv_piece_exported(7, fd));
	list = told_fd;
	assert_int_equal(dup2(epoll_create1(0), list), list);
	assert_false(clv_pieces_settle());
	clv_piece_release(7);
	assert_false(clv_pieces_settle());
	assert_int_equal(charged_bytes, 2 * N_BYTES);
	assert_true(clv_piece_exported(8, second));
	assert_int_not_equal(told_fd, list);
	assert_true(clv_watched_visit(list, count, &n_bytes));
	assert_int_equal(n_bytes, 0);
	assert_true(clv_watched_visit(told_fd, count, &n_bytes));
	assert_int_equal(n_bytes, N_BYTES);
	clv_piece_release(8);
	close(fd);
	close(second);
	assert_true(clv_pieces_settle());
	clv_exports_forget_parent();
	assert_true(clv_watched_is_list(list));
	close(list);
}

/* Files that cannot be watched: the memory stays charged, and other processes pay too. */
static void test_unwatchable(void **state)
{
	int fd = memfd_create("piece", MFD_CLOEXEC);
	struct clv_file_mark mark;

	make(7);
	assert_true(clv_piece_exported(7, fd));
	assert_false(clv_file_mark_find(fd, 0, UINT64_MAX, &mark));
	clv_piece_release(7);
	close(fd);
	clv_pieces_settle();
	assert_int_equal(charged_bytes, N_BYTES);
}

/* Another tenant has locked the inode that all of the driver's files share: the file has
 * no mark, so other processes pay too. */
static void test_locked_inode(void **state)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = new_file(), others = new_file();
	struct clv_file_mark mark;

	assert_int_equal(fcntl(others, F_OFD_SETLK, &all), 0);
	make(7);
	assert_true(clv_piece_exported(7, fd));
	assert_false(clv_file_mark_find(fd, 0, UINT64_MAX, &mark));
	clv_piece_release(7);
	clv_pieces_settle();
	assert_int_equal(charged_bytes, N_BYTES);
	close(fd);
	clv_pieces_settle();
	assert_int_equal(charged_bytes, 0);
	close(others);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_other_process_pays, set_up),
		cmocka_unit_test_setup(test_imported_is_not_exported, set_up),
		cmocka_unit_test_setup(test_from_outside, set_up),
		cmocka_unit_test_setup(test_own_files, set_up),
		cmocka_unit_test_setup(test_reused_handle, set_up),
		cmocka_unit_test_setup(test_agent_does_not_know, set_up),
		cmocka_unit_test_setup(test_dma_buf, set_up),
		cmocka_unit_test_setup(test_dma_buf_of_mapping, set_up),
		cmocka_unit_test_setup(test_closed_list, set_up),
		cmocka_unit_test_setup(test_another_list, set_up),
		cmocka_unit_test_setup(test_unwatchable, set_up),
		cmocka_unit_test_setup(test_locked_inode, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
