/* SPDX-License-Identifier: Apache-2.0 */
/* The child that closes tenants' sockets hangs in a file: the tenant whose file it is has
 * to account for it, and not the one whose socket finds the child's queue full. */
#include "agent/os/fd-filter.h"

#include "base/socket.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define QUEUE_MAX 10000 /* more than a socket takes */
#define N_KILLED_MAX 16 /* from then on a tenant's files are taken by no child */

/* Doubles of agent/os/helper.h: children that the kernel does not let end.  The one that
 * closes sockets does so when the test does it in its place; another one never answers.
 */

int __wrap_clv_helper_start(
	struct clv_helper *helper, const char *name, void (*serve)(int fd));
pid_t __wrap_clv_helper_stop(struct clv_helper *helper);
bool __wrap_clv_helper_has_ended(pid_t pid);

static int n_started, n_stopped;
static struct clv_helper closer = {.fd = -1};
static int closer_end = -1;

int __wrap_clv_helper_start(
	struct clv_helper *helper, const char *name, void (*serve)(int fd))
{
	int ends[2];

	(void)serve;
	assert_return_code(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	*helper = (struct clv_helper){.pid = ++n_started, .fd = ends[0]};
	if (strcmp(name, "closer") == 0) {
		closer = *helper;
		closer_end = ends[1];
	} else {
		close(ends[1]);
	}
	return 0;
}

pid_t __wrap_clv_helper_stop(struct clv_helper *helper)
{
	pid_t pid = helper->pid;

	if (pid == closer.pid)
		close(closer_end);
	close(helper->fd);
	helper->pid = 0;
	n_stopped++;
	return pid;
}

bool __wrap_clv_helper_has_ended(pid_t pid)
{
	(void)pid;
	return false;
}

/* Closes a socket on which the tenant has sent something. */
static void close_one(const char *tenant)
{
	int ends[2];

	assert_return_code(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	assert_return_code(clv_socket_send(ends[1], "", 1, NULL, 0), 0);
	clv_fd_filter_close(tenant, ends[0]);
	close(ends[1]);
}

/* The child closes one of the sockets that it was sent, and says so. */
static void closer_closes_one(void)
{
	size_t n_files = 1;
	int socket_fd;
	char byte;

	assert_int_equal(
		clv_socket_receive(closer_end, &byte, sizeof(byte), &socket_fd, &n_files),
		1);
	assert_int_equal(n_files, 1);
	close(socket_fd);
	assert_return_code(clv_socket_send(closer_end, "", 1, NULL, 0), 0);
}

/* Until the queue is full, and the child is replaced. */
static void close_until_replaced(const char *tenant)
{
	int before = n_stopped;

	for (int i = 0; i < QUEUE_MAX && n_stopped == before; i++)
		close_one(tenant);
	assert_int_equal(n_stopped, before + 1);
}

/* Whether a child would look at the tenant's files.  Without one the message comes at
 * once, and no child is started. */
static bool is_refused_children(const char *tenant)
{
	struct clv_fd_filter filter = {0};
	int ends[2], file = open("/dev/null", O_RDONLY | O_CLOEXEC), got_fd;
	int before = n_started;
	size_t n_fds;
	char byte;

	assert_return_code(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	assert_return_code(clv_socket_send(ends[1], "", 1, &file, 1), 0);
	close(file);
	clv_fd_filter_receive(
		&filter, tenant, ends[0], &byte, sizeof(byte), &got_fd, &n_fds);
	close(ends[0]);
	close(ends[1]);
	return n_started == before;
}

static void the_keeper_accounts_for_it(void **state)
{
	(void)state;
	for (int i = 0; i < N_KILLED_MAX; i++) {
		close_one("keeper");
		close_until_replaced("other");
		closer_closes_one();
	}
	assert_true(is_refused_children("keeper"));
	assert_false(is_refused_children("other"));
}

/* What it has closed keeps it no longer. */
static void closed_files_count_no_longer(void **state)
{
	(void)state;
	for (int i = 0; i < N_KILLED_MAX; i++) {
		close_one("before");
		closer_closes_one();
		close_one("later");
		close_until_replaced("other");
		closer_closes_one();
	}
	assert_false(is_refused_children("before"));
	assert_true(is_refused_children("later"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_keeper_accounts_for_it),
		cmocka_unit_test(closed_files_count_no_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
