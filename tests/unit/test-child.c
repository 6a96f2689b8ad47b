/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes of the agent: how each ends, and that none stays a zombie. */
#include "agent/os/child.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#define MINUTE_NS (60 * CLV_NS_PER_S)
#define TURNS 16 /* of the loop, more than one end takes */

static sd_event *event;
static struct clv_child_end ended;
static char output[64];
static int n_ended;

static void on_end(void *userdata, const struct clv_child_end *end)
{
	ended = *end;
	snprintf(output, sizeof(output), "%.*s", (int)end->n_bytes,
		end->output ? end->output : "");
	n_ended++;
}

static struct clv_child *start(const char *command, uint64_t timeout_ns)
{
	char *arguments[] = {(char[]){"sh"}, (char[]){"-c"}, strdup(command), NULL};
	struct clv_child *child = NULL;
	struct clv_error err = {0};

	n_ended = 0;
	if (clv_child_start(event, "/bin/sh", arguments, timeout_ns, on_end, NULL, &child,
		    &err) < 0)
		fail_msg("%s", err.msg);
	free(arguments[2]);
	return child;
}

static void run_to_the_end(void)
{
	while (n_ended == 0)
		assert_true(sd_event_run(event, MINUTE_NS / CLV_NS_PER_US) > 0);
}

/* Waits until the child is dead, and lets the loop take notice. */
static void assert_no_zombie(void)
{
	siginfo_t info;

	waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
	for (int i = 0; i < TURNS; i++)
		assert_true(sd_event_run(event, 0) >= 0);
	assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_exits(void **state)
{
	struct clv_child *child = start("echo out; exit 3", MINUTE_NS);

	run_to_the_end();
	assert_int_equal(ended.status, 3);
	assert_int_equal(ended.signal, 0);
	assert_false(ended.is_timed_out);
	assert_string_equal(output, "out\n");
	clv_child_free(child);
	assert_no_zombie();
	assert_int_equal(n_ended, 1);
}

static void test_is_killed(void **state)
{
	struct clv_child *child = start("kill -SEGV $$", MINUTE_NS);

	run_to_the_end();
	assert_int_equal(ended.signal, SIGSEGV);
	clv_child_free(child);
	assert_no_zombie();
}

/* Whether it is freed by the callback's caller or later, its end is told once. */
static void test_times_out(void **state)
{
	struct clv_child *child = start("sleep 60", CLV_NS_PER_MS);

	run_to_the_end();
	assert_true(ended.is_timed_out);
	assert_no_zombie();
	assert_int_equal(n_ended, 1);
	clv_child_free(child);

	child = start("sleep 60", CLV_NS_PER_MS);
	run_to_the_end();
	clv_child_free(child);
	assert_no_zombie();
	assert_int_equal(n_ended, 1);
}

/* The kernel kills it later than clv_child_free() returns. */
static void test_is_freed_while_it_runs(void **state)
{
	for (int i = 0; i < 4; i++) {
		clv_child_free(start("sleep 60", MINUTE_NS));
		assert_no_zombie();
		assert_int_equal(n_ended, 0);
	}
}

static int set_up(void **state)
{
	return sd_event_new(&event);
}

static int tear_down(void **state)
{
	event = sd_event_unref(event);
	return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_exits),
		TEST(test_is_killed),
		TEST(test_times_out),
		TEST(test_is_freed_while_it_runs),
	};
	sigset_t chld;

	/* As in the agent: the loop sees ends by this signal where there is no pidfd. */
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
