/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of exported files that are read in a child, which may hang. */
#include "agent/os/exported.h"

#include "arbiter/attach.h"
#include "base/watched.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define N_BYTES UINT64_C(8192)

static bool hangs, fails;
static int secret_fd; /* not in the list */

extern __typeof__(clv_watched_visit) __wrap_clv_watched_visit;

bool __wrap_clv_watched_visit(
	int fd, void (*visit)(uint64_t data, void *userdata), void *userdata)
{
	while (hangs)
		pause();
	if (fcntl(fd, F_GETFD) < 0 || fcntl(secret_fd, F_GETFD) >= 0)
		return false;
	visit(CLV_ATTACH_EXPORT_DATA(fd, N_BYTES), userdata);
	visit(CLV_ATTACH_EXPORT_DATA(fd, N_BYTES), userdata);
	return !fails;
}

static struct clv_exported exported;

static int set_up(void **state)
{
	alarm(60);
	hangs = fails = false;
	secret_fd = open("/dev/null", O_RDONLY);
	for (size_t i = 0; i < 3; i++)
		clv_exported_add(&exported, open("/dev/null", O_RDONLY));
	return 0;
}

static int tear_down(void **state)
{
	close(secret_fd);
	clv_exported_close(&exported);
	/* No child is left. */
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
	return 0;
}

/* A file counts once, and the child has no other descriptor of the agent's. */
static void test_sum(void **state)
{
	uint64_t n_bytes = 1;
	pid_t reader = 0;

	while (!clv_exported_sum(&exported, &reader, &n_bytes))
		; /* a busy machine */
	assert_int_equal(n_bytes, 3 * N_BYTES);
	assert_int_equal(reader, 0);
}

static void test_failure(void **state)
{
	uint64_t n_bytes = 1;
	pid_t reader = 0;

	fails = true;
	assert_false(clv_exported_sum(&exported, &reader, &n_bytes));
	assert_int_equal(n_bytes, 1);
	while (reader != 0 && waitpid(reader, NULL, 0) != reader)
		;
}

/* Another process has the list's lock. */
static void test_hang(void **state)
{
	uint64_t n_bytes = 1;
	pid_t reader = 0;

	hangs = true;
	assert_false(clv_exported_sum(&exported, &reader, &n_bytes));
	assert_int_equal(n_bytes, 1);
	hangs = false;
	while (!clv_exported_sum(&exported, &reader, &n_bytes))
		;
	assert_int_equal(n_bytes, 3 * N_BYTES);
}

/* Nothing is read while a child hangs. */
static void test_one_child(void **state)
{
	uint64_t n_bytes = 1;
	pid_t reader = fork(), child = reader;

	if (reader == 0) {
		while (true)
			pause();
	}
	assert_false(clv_exported_sum(&exported, &reader, &n_bytes));
	assert_int_equal(reader, child);
	kill(child, SIGKILL);
	while (!clv_exported_sum(&exported, &reader, &n_bytes))
		;
	assert_int_equal(reader, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sum, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_failure, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hang, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_child, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
