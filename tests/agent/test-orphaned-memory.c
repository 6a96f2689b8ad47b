/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that ended processes have left: what is charged, and how often the lists of
 * their files are read, which tenants may make long. */
#include "rows.h"

#include "agent/lease/orphaned-memory.h"
#include "agent/os/exported.h"
#include "base/clock.h"
#include "base/watched.h"

#include <fcntl.h>
#include <unistd.h>

#define N_PROCESSES 20

static unsigned int n_looks;
static uint64_t left_bytes, look_ns, charged_bytes;

extern __typeof__(clv_watched_is_list) __wrap_clv_watched_is_list;
extern __typeof__(clv_exported_sum) __wrap_clv_exported_sum;
extern __typeof__(clv_arbiter_slot_memory) __wrap_clv_arbiter_slot_memory;
extern __typeof__(clv_arbiter_set_orphaned) __wrap_clv_arbiter_set_orphaned;

bool __wrap_clv_watched_is_list(int fd)
{
	return true;
}

bool __wrap_clv_exported_sum(
	const struct clv_exported *exported, pid_t *reader, uint64_t *ret_bytes)
{
	if (exported->is_partial)
		return false;
	n_looks++;
	world.now_ns += look_ns;
	*ret_bytes = left_bytes;
	return true;
}

uint64_t __wrap_clv_arbiter_slot_memory(
	const struct clv_arbiter_lease *lease, uint32_t index)
{
	return 2 * GIB;
}

void __wrap_clv_arbiter_set_orphaned(
	struct clv_arbiter *arbiter, struct clv_arbiter_lease *lease, uint64_t n_bytes)
{
	charged_bytes = n_bytes;
}

/* Processes attach to a lease, and each sends a list. */
static struct clv_lease *begin(void)
{
	struct clv_agent_device *device = world_device(40 * GIB);
	struct clv_lease *lease;

	n_looks = 0;
	lease = world_lease(device, &(struct world_lease){"a", ALICE, 50, 10 * GIB});
	for (int i = 1; i <= N_PROCESSES; i++) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		world_process(PID(i), 1);
		clv_orphaned_memory_record(world_attach(lease, PID(i)), fd);
		close(fd);
	}
	return lease;
}

static void end_all(void)
{
	for (int i = 1; i <= N_PROCESSES; i++)
		world_kill(PID(i));
}

static void pass(struct clv_lease *lease, unsigned int seconds)
{
	for (unsigned int i = 0; i < seconds; i++) {
		world_pass_s(1);
		clv_orphaned_memory_check(lease);
	}
}

static void test_short_lists(void **state)
{
	struct clv_lease *lease = begin();

	left_bytes = GIB;
	look_ns = CLV_NS_PER_US;
	end_all();
	pass(lease, 2);
	assert_int_equal(charged_bytes, N_PROCESSES * GIB);
	left_bytes = 0;
	pass(lease, 1);
	assert_int_equal(charged_bytes, 0);
}

/* A second for each list: in a hundred seconds the agent reads one or two. */
static void test_long_lists(void **state)
{
	struct clv_lease *lease = begin();

	left_bytes = GIB;
	look_ns = CLV_NS_PER_S;
	end_all();
	pass(lease, 90);
	assert_int_equal(n_looks, 1);
	/* What was not looked at is charged as the processes had it. */
	assert_int_equal(charged_bytes, GIB + (N_PROCESSES - 1) * 2 * GIB);
	pass(lease, 10 * 101);
	assert_in_range(n_looks, 5, 12);
	assert_int_equal(lease->n_orphaned, N_PROCESSES);
}

/* A process sends so many lists, each again and again. */
static struct clv_lease *begin_with_lists(unsigned int n)
{
	struct clv_agent_device *device = world_device(40 * GIB);
	struct clv_lease *lease;
	struct clv_attached *process;

	lease = world_lease(device, &(struct world_lease){"a", ALICE, 50, 10 * GIB});
	world_process(PID(1), 1);
	process = world_attach(lease, PID(1));
	for (unsigned int i = 0; i < n; i++) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		for (int k = 0; k < 3; k++)
			clv_orphaned_memory_record(process, fd);
		close(fd);
	}
	return lease;
}

static void test_many_lists(void **state)
{
	struct clv_lease *lease = begin_with_lists(4);

	left_bytes = look_ns = charged_bytes = 0;
	world_kill(PID(1));
	pass(lease, 2);
	assert_int_equal(lease->n_orphaned, 0);
	assert_int_equal(charged_bytes, 0);
}

/* Files of the lists that are not kept may exist. */
static void test_too_many_lists(void **state)
{
	struct clv_lease *lease = begin_with_lists(5);

	left_bytes = look_ns = charged_bytes = 0;
	world_kill(PID(1));
	pass(lease, 2);
	assert_int_equal(charged_bytes, 2 * GIB);
}

int main(void)
{
	static struct rows rows;

	ROWS_ONE(&rows, test_short_lists);
	ROWS_ONE(&rows, test_long_lists);
	ROWS_ONE(&rows, test_many_lists);
	ROWS_ONE(&rows, test_too_many_lists);
	return rows_run(&rows);
}
