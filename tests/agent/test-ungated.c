/* SPDX-License-Identifier: Apache-2.0 */
/* Detection of APIs without a gate beside a lease of many processes, whose address spaces
 * change all the time. */
#include "rows.h"

#include "agent/lease/holder.h"
#include "agent/ledger/ledger.h"
#include "agent/os/maps.h"
#include "agent/watch/descendants.h"
#include "agent/watch/ungated.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_CROWD 2000
#define OTHER PID(N_CROWD) /* a process of another lease */

static struct clv_lease *crowd, *other;
static int n_crowd;
static uint64_t vm_bytes;
static unsigned int n_checks; /* of the crowd */
static bool is_mapped;        /* the driver, in the other lease's process */
static bool is_unreadable;    /* the crowd's mappings */
static pid_t newest;          /* 0: not known */
static struct clv_ungated *ungated;

int __wrap_clv_process_newest(pid_t *ret);
int __wrap_clv_process_newest(pid_t *ret)
{
	*ret = newest;
	return newest > 0 ? 0 : -ESRCH;
}

void __wrap_clv_holder_each(
	const struct clv_agent *agent, clv_holder_fn fn, void *userdata);
void __wrap_clv_holder_each(
	const struct clv_agent *agent, clv_holder_fn fn, void *userdata)
{
	for (int i = 0; i < n_crowd; i++) {
		const struct clv_process_id id = {.pid = PID(i), .start_ticks = 1};

		fn(userdata, &id, crowd);
	}
	fn(userdata, &(struct clv_process_id){.pid = OTHER, .start_ticks = 1}, other);
}

int __wrap_clv_process_size(const struct clv_process_id *id, uint64_t *ret_bytes);
int __wrap_clv_process_size(const struct clv_process_id *id, uint64_t *ret_bytes)
{
	*ret_bytes = id->pid == OTHER ? 1u + is_mapped : vm_bytes++;
	return id->pid >= PID(n_crowd) && id->pid != OTHER ? -ESRCH : 0;
}

int __wrap_clv_maps_search(
	const struct clv_maps_search *search, struct clv_maps_found *ret);
int __wrap_clv_maps_search(
	const struct clv_maps_search *search, struct clv_maps_found *ret)
{
	*ret = (struct clv_maps_found){.file_fd = -1};
	n_checks += search->pid != OTHER;
	for (uint32_t i = 0; i < search->n; i++) {
		if (search->pid == OTHER && is_mapped &&
			strcmp(search->texts[i], "libvulkan_radeon.so") == 0)
			ret->texts |= UINT64_C(1) << i;
	}
	return search->pid != OTHER && is_unreadable ? -EAGAIN : 0;
}

static struct clv_lease *make_lease(const char *name, uid_t uid)
{
	const struct world_lease spec = {
		.name = name, .uid = uid, .percent = 40, .memory_bytes = GIB};

	return world_lease(clv_devices_at(world.agent.devices, 0), &spec);
}

static int begin(void **state)
{
	int r = world_begin(state);

	world_device(8 * GIB);
	crowd = make_lease("crowd", ALICE);
	other = make_lease("other", BOB);
	is_mapped = is_unreadable = false;
	n_checks = 0;
	n_crowd = N_CROWD;
	newest = 0;
	ungated = clv_ungated_new(&world.agent);
	assert_non_null(ungated);
	return r;
}

static int end(void **state)
{
	clv_ungated_free(ungated);
	return world_end(state);
}

static void tick(int n)
{
	for (int i = 0; i < n; i++)
		clv_ungated_tick(ungated);
}

static void test_beside_a_crowd(void **state)
{
	tick(3);
	is_mapped = true;
	tick(2);
	assert_int_not_equal(other->observed.ungated, 0);
	assert_int_equal(crowd->observed.ungated, 0);
}

static void test_the_crowd_is_bounded(void **state)
{
	tick(3);
	assert_int_equal(crowd->observed.n_checked, CLV_DESCENDANTS_OF_LEASE);
	assert_true(crowd->observed.is_crowded);
	assert_int_equal(other->observed.n_checked, 1);
	assert_false(other->observed.is_crowded);
	n_crowd = 0;
	tick(CLV_DESCENDANTS_OF_LEASE);
	assert_int_equal(crowd->observed.n_checked, 0);
	assert_int_equal(other->observed.n_checked, 1);
}

/* What other leases leave of a tick is for the crowd. */
static void test_nothing_is_left_of_a_tick(void **state)
{
	tick(1);
	n_checks = 0;
	tick(10);
	assert_in_range(n_checks, 10 * 7, 10 * 8);
}

/* A lease whose mappings cannot be read costs the loop one wait in sixteen seconds. */
static void test_mappings_that_cannot_be_read(void **state)
{
	is_unreadable = true;
	tick(3);
	assert_int_equal(n_checks, 1);
	is_mapped = true;
	tick(2);
	assert_int_not_equal(other->observed.ungated, 0);
	tick(12);
	assert_int_equal(n_checks, 2);
	is_unreadable = false;
	tick(16);
	n_checks = 0;
	tick(10);
	assert_in_range(n_checks, 10 * 7, 10 * 8);
}

/* A child of the other lease's process, as /proc lists it. */
static pid_t make_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	world_process(pid, OTHER);
	return pid;
}

/* Processes are listed when there are new ones, every tenth second in any case, and each
 * time where the kernel does not say. */
static void test_new_processes(void **state)
{
	static const struct {
		pid_t before, after;
		int n_ticks;
		uint32_t n_checked;
	} rows[] = {
		{7, 8, 1, 2}, {7, 7, 1, 1}, {7, 7, 9, 1}, {7, 7, 10, 2}, {0, 0, 1, 2}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pid_t child;

		ungated = clv_ungated_free(ungated);
		crowd->observed.n_checked = other->observed.n_checked = 0;
		ungated = clv_ungated_new(&world.agent);
		newest = rows[i].before;
		tick(1);
		child = make_child();
		newest = rows[i].after;
		tick(rows[i].n_ticks);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		assert_int_equal(other->observed.n_checked, rows[i].n_checked);
	}
}

int main(void)
{
	struct rows rows = {0};

	ROWS_ONE(&rows, test_beside_a_crowd);
	ROWS_ONE(&rows, test_the_crowd_is_bounded);
	ROWS_ONE(&rows, test_nothing_is_left_of_a_tick);
	ROWS_ONE(&rows, test_mappings_that_cannot_be_read);
	ROWS_ONE(&rows, test_new_processes);
	rows_set_up(&rows, begin, end);
	return rows_run(&rows);
}
