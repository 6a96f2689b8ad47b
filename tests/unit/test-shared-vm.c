/* SPDX-License-Identifier: Apache-2.0 */
/* Sharers of a process that ended, with each answer of the reader of mappings. */
#include "agent/lease/shared-vm.h"
#include "agent/os/maps.h"
#include "agent/record/agent.h"
#include "arbiter/arbiter.h"
#include "base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define GONE 0x3fffffff

static struct clv_agent agent;
static struct clv_lease lease;
static struct clv_attached gone;
static struct clv_process_id self;
static struct clv_process_id
	sharer; /* a child of fork(): with this process's addresses */
static int page_fd;
static int answer; /* of the reader */

int __wrap_clv_maps_file(pid_t pid, dev_t device, ino_t inode);
int __wrap_clv_maps_file(pid_t pid, dev_t device, ino_t inode)
{
	return answer;
}

void __wrap_clv_arbiter_get_fds(
	const struct clv_arbiter_lease *of, struct clv_arbiter_fds *ret);
void __wrap_clv_arbiter_get_fds(
	const struct clv_arbiter_lease *of, struct clv_arbiter_fds *ret)
{
	*ret = (struct clv_arbiter_fds){.report = page_fd};
}

static int begin(void **state)
{
	sharer.pid = fork();
	if (sharer.pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(clv_process_read(sharer.pid, NULL, &sharer.start_ticks), 0);
	self.pid = getpid();
	assert_int_equal(clv_process_read(self.pid, NULL, &self.start_ticks), 0);
	page_fd = memfd_create("a page", MFD_CLOEXEC);
	memset(&lease, 0, sizeof(lease));
	TAILQ_INIT(&lease.processes);
	lease.agent = &agent;
	lease.arbiter_lease = (struct clv_arbiter_lease *)&lease; /* never read */
	gone = (struct clv_attached){.lease = &lease,
		.record.id.pid = GONE,
		.has_slot = true,
		.is_reattached = true,
		.ancestors = &self,
		.n_ancestors = 1,
		.noted_ns = clv_clock_ns()};
	return clv_process_read_layout(self.pid, &gone.record.layout);
}

static int end(void **state)
{
	kill(sharer.pid, SIGKILL);
	waitpid(sharer.pid, NULL, 0);
	free(lease.seen);
	close(page_fd);
	return 0;
}

static enum clv_lookup find(int reader, pid_t *ret)
{
	struct clv_process_id found = {.pid = 0};
	enum clv_lookup r;

	answer = reader;
	r = clv_shared_vm_find(&gone, &found);
	*ret = found.pid;
	return r;
}

static void test_known(void **state)
{
	pid_t pid;

	assert_int_equal(find(1, &pid), CLV_ANSWER_YES);
	assert_int_equal(pid, sharer.pid);
	assert_int_equal(find(0, &pid), CLV_ANSWER_NO);
	/* No sharer can come later: those that there were shared the memory before. */
	assert_int_equal(find(1, &pid), CLV_ANSWER_NO);
}

/* What the reader does not know is not remembered either way. */
static void test_unknown_then_sharer(void **state)
{
	pid_t pid;

	assert_int_equal(find(-EAGAIN, &pid), CLV_ANSWER_UNKNOWN);
	assert_int_equal(find(-EAGAIN, &pid), CLV_ANSWER_UNKNOWN);
	assert_int_equal(find(1, &pid), CLV_ANSWER_YES);
	assert_int_equal(pid, sharer.pid);
}

static void test_unknown_then_none(void **state)
{
	pid_t pid;

	assert_int_equal(find(-EAGAIN, &pid), CLV_ANSWER_UNKNOWN);
	assert_int_equal(find(0, &pid), CLV_ANSWER_NO);
}

/* The agent may never read it: not a process of a lease's user. */
static void test_not_permitted(void **state)
{
	pid_t pid;

	assert_int_equal(find(-EACCES, &pid), CLV_ANSWER_NO);
}

/* The lookups of a second take CLV_LOOKUP_NS, also those that fail. */
static void test_time_is_used_up(void **state)
{
	pid_t pid;

	lease.looks_since_ns = clv_clock_ns();
	lease.looks_ns = CLV_LOOKUP_NS;
	assert_int_equal(find(1, &pid), CLV_ANSWER_UNKNOWN);
	assert_int_equal(pid, 0);
}

static void test_page(void **state)
{
	struct {
		int reader;
		enum clv_lookup expected;
	} rows[] = {
		{1, CLV_ANSWER_YES},
		{0, CLV_ANSWER_NO},
		{-EACCES, CLV_ANSWER_YES},
		{-EAGAIN, CLV_ANSWER_UNKNOWN},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		answer = rows[i].reader;
		assert_int_equal(clv_shared_vm_has_page(&gone), rows[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_known, begin, end),
		cmocka_unit_test_setup_teardown(test_unknown_then_sharer, begin, end),
		cmocka_unit_test_setup_teardown(test_unknown_then_none, begin, end),
		cmocka_unit_test_setup_teardown(test_not_permitted, begin, end),
		cmocka_unit_test_setup_teardown(test_time_is_used_up, begin, end),
		cmocka_unit_test_setup_teardown(test_page, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
