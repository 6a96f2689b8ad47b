/* SPDX-License-Identifier: Apache-2.0 */
/* A gate that rings a dead agent: the program must not notice. */
#include "gate/attach/attach.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static struct clv_view make_view(int ring[2])
{
	struct clv_view view = {0};

	assert_int_equal(pipe2(ring, O_CLOEXEC | O_NONBLOCK), 0);
	view.doorbell_fd = ring[1];
	record_file(view.doorbell_fd, &view.doorbell_device, &view.doorbell_inode);
	return view;
}

static bool is_pending(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGPIPE);
}

static void set_blocked(int how)
{
	sigset_t broken;

	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	pthread_sigmask(how, &broken, NULL);
}

static void test_live_agent(void **state)
{
	int ring[2];
	struct clv_view view = make_view(ring);
	char byte;

	assert_true(clv_attach_ring(&view));
	assert_int_equal(read(ring[0], &byte, 1), 1);
	close(ring[0]);
	close(ring[1]);
}

/* With the default action of SIGPIPE this would end the test. */
static void test_dead_agent(void **state)
{
	int ring[2];
	struct clv_view view = make_view(ring);

	close(ring[0]);
	assert_false(clv_attach_ring(&view));
	assert_false(is_pending());
	close(ring[1]);
}

static void test_signals_of_its_own_stay(void **state)
{
	int ring[2];
	struct clv_view view = make_view(ring);

	close(ring[0]);
	set_blocked(SIG_BLOCK);
	raise(SIGPIPE);
	assert_false(clv_attach_ring(&view));
	assert_true(is_pending());
	signal(SIGPIPE, SIG_IGN); /* discards a pending signal */
	signal(SIGPIPE, SIG_DFL);
	assert_false(clv_attach_ring(&view));
	assert_false(is_pending());
	set_blocked(SIG_UNBLOCK);
	close(ring[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_live_agent),
		cmocka_unit_test(test_dead_agent),
		cmocka_unit_test(test_signals_of_its_own_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
