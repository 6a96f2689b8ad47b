/* SPDX-License-Identifier: Apache-2.0 */
/* Into which programs a gate can be preloaded for a user who is not root: copies of this
 * program, with permissions that the test sets. */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/launch/preloadable.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534

/* The kernel's format: cap_net_raw, permitted and effective. */
static const uint32_t net_raw[5] = {0x02000001, 1u << 13};

static char folder[] = "/tmp/cleave-preloadable-XXXXXX";
static char program[sizeof(folder) + 16];

static int make_folder(void **state)
{
	if (!mkdtemp(folder) || chmod(folder, 0755) < 0)
		return -1;
	snprintf(program, sizeof(program), "%s/program", folder);
	return 0;
}

static int remove_folder(void **state)
{
	return rmdir(folder);
}

static int copy_self(void **state)
{
	_cleanup_close_ int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int to = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	struct stat st;

	if (from < 0 || to < 0 || fstat(from, &st) < 0 || fchmod(to, 0755) < 0)
		return -1;
	while (st.st_size > 0) {
		ssize_t n = sendfile(to, from, NULL, (size_t)st.st_size);

		if (n <= 0)
			return -1;
		st.st_size -= n;
	}
	return 0;
}

static int remove_copy(void **state)
{
	return unlink(program);
}

/* Checks the program's obstacle as an unprivileged user, or "". */
static void check_unprivileged(bool no_new_rights, const char *obstacle)
{
	struct clv_error err = {};
	int pipe_fds[2], status;
	pid_t child;

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0 ||
			(no_new_rights && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
			_exit(1);
		clv_preloadable_check(program, &err);
		(void)!write(pipe_fds[1], &err, sizeof(err));
		_exit(0);
	}
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &err, sizeof(err)), sizeof(err));
	close(pipe_fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (obstacle[0] == '\0')
		assert_string_equal(err.msg, "");
	else
		assert_non_null(strstr(err.msg, obstacle));
	assert_int_equal(err.code, obstacle[0] ? -EPERM : 0);
}

static void need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static void test_ordinary(void **state)
{
	struct clv_error err = {};

	assert_int_equal(clv_preloadable_check(program, &err), 0);
	assert_string_equal(err.msg, "");
	need_root();
	check_unprivileged(false, "");
}

static void test_unreadable(void **state)
{
	need_root();
	assert_int_equal(chmod(program, 0711), 0);
	check_unprivileged(false, "cannot be read, only executed");
	assert_int_equal(chmod(program, 0700), 0);
	check_unprivileged(false, ""); /* the kernel refuses it */
}

static void test_ids(void **state)
{
	need_root();
	assert_int_equal(chmod(program, 04755), 0);
	check_unprivileged(false, "set-user-ID");
	check_unprivileged(true, "");
	assert_int_equal(chmod(program, 02755), 0);
	check_unprivileged(false, "set-user-ID");
	assert_int_equal(chmod(program, 02745), 0);
	check_unprivileged(false, "");
	assert_int_equal(chown(program, NOBODY, NOBODY), 0);
	assert_int_equal(chmod(program, 06755), 0);
	check_unprivileged(false, "");
}

static void test_capabilities(void **state)
{
	need_root();
	if (setxattr(program, "security.capability", net_raw, sizeof(net_raw), 0) < 0)
		skip();
	check_unprivileged(false, "file capabilities");
	check_unprivileged(true, "");
}

static void test_files_that_are_not_programs(void **state)
{
	static const char *const paths[] = {"/", "/dev/null", "/no/such/program"};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(paths); i++)
		assert_int_equal(clv_preloadable_check(paths[i], NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ordinary, copy_self, remove_copy),
		cmocka_unit_test_setup_teardown(test_unreadable, copy_self, remove_copy),
		cmocka_unit_test_setup_teardown(test_ids, copy_self, remove_copy),
		cmocka_unit_test_setup_teardown(
			test_capabilities, copy_self, remove_copy),
		cmocka_unit_test(test_files_that_are_not_programs),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
