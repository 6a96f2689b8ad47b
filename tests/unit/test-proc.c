/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static pid_t child;

static int start_child(void **state)
{
	child = fork();
	if (child == 0) {
		for (;;)
			pause();
	}
	return child > 0 ? 0 : -1;
}

static int end_child(void **state)
{
	kill(child, SIGKILL);
	return waitpid(child, NULL, 0) == child ? 0 : -1;
}

static char wait_for_state(char wanted)
{
	struct clv_proc proc = {0};

	for (int i = 0; i < 60000 && proc.state != wanted; i++) {
		usleep(1000);
		assert_true(clv_proc_read(child, &proc));
	}
	return proc.state;
}

static void test_state(void **state)
{
	struct clv_proc before, after;

	assert_int_equal(wait_for_state('S'), 'S');
	assert_true(clv_proc_read(child, &before));
	assert_true(clv_proc_read(child, &after));
	assert_int_equal(before.n_switches, after.n_switches);
	assert_false(clv_proc_waits_for_disk(child));
	kill(child, SIGSTOP);
	assert_int_equal(wait_for_state('T'), 'T');
	kill(child, SIGCONT);
	assert_int_equal(wait_for_state('S'), 'S');
	assert_true(clv_proc_read(child, &after));
	assert_true(after.n_switches > before.n_switches);
}

static void test_no_process(void **state)
{
	struct clv_proc proc;

	assert_false(clv_proc_read(1 << 30, &proc));
	assert_false(clv_proc_waits_for_disk(1 << 30));
	assert_false(clv_proc_has_argument(1 << 30, ""));
}

static void test_arguments(void **state)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "kill -STOP $$", "--idle-exit=30", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_true(clv_proc_has_argument(pid, "--idle-exit="));
	assert_true(clv_proc_has_argument(pid, "sh"));
	assert_false(clv_proc_has_argument(pid, "idle-exit="));
	assert_false(clv_proc_has_argument(pid, "--idle-exit=300"));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static void test_uninterruptible(void **state)
{
	bool waits = false;
	pid_t pid = fork();

	if (pid == 0) {
		pid_t parent = getpid();

		if (vfork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			/* If it was killed before that, the parent sends no signal. */
			if (getppid() == parent)
				pause();
			_exit(0);
		}
		_exit(0);
	}
	for (int i = 0; i < 60000 && !waits; i++) {
		usleep(1000);
		waits = clv_proc_waits_for_disk(pid);
	}
	assert_true(waits);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_state, start_child, end_child),
		cmocka_unit_test(test_no_process),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_uninterruptible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
