/* SPDX-License-Identifier: Apache-2.0 */
/* The freezer of a container's cgroup, in version 1 and in version 2: a process in a
 * cgroup of its own counts on only while it is not frozen. */
#include "bridge/services/engine/freezer.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TRIES 6000
#define PAUSE_US 10000

struct bed {
	char folder[256]; /* of the cgroup */
	char id[64];
	pid_t pid;
	volatile uint64_t *count;
};

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool is_written = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return is_written;
}

/* Where version 1's freezer or version 2 is mounted; false: it is not. */
static bool find_mount(bool is_of_v1, char *ret, size_t room)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	const struct mntent *entry;
	bool is_found = false;

	while (mounts && !is_found && (entry = getmntent(mounts))) {
		is_found = is_of_v1 ? strcmp(entry->mnt_type, "cgroup") == 0 &&
					      hasmntopt(entry, "freezer")
				    : strcmp(entry->mnt_type, "cgroup2") == 0;
		if (is_found)
			snprintf(ret, room, "%s", entry->mnt_dir);
	}
	if (mounts)
		endmntent(mounts);
	return is_found;
}

static void count_on(volatile uint64_t *count)
{
	for (;;) {
		*count += 1;
		usleep(PAUSE_US / 10);
	}
}

static void end(struct bed *bed)
{
	if (bed->pid > 0) {
		kill(bed->pid, SIGKILL);
		waitpid(bed->pid, NULL, 0);
	}
	for (int i = 0; i < TRIES && rmdir(bed->folder) < 0 && errno == EBUSY; i++)
		usleep(PAUSE_US);
	munmap((void *)(uintptr_t)bed->count, sizeof(uint64_t));
}

/* A process that counts, in a cgroup whose name has the id; false: not on this machine.
 */
static bool begin(struct bed *bed, bool is_of_v1)
{
	char mount[128], path[300], number[16];

	snprintf(bed->id, sizeof(bed->id), "freezer%d", (int)getpid());
	if (!find_mount(is_of_v1, mount, sizeof(mount)))
		return false;
	snprintf(bed->folder, sizeof(bed->folder), "%s/cleave-test-%s", mount, bed->id);
	if (mkdir(bed->folder, 0755) < 0)
		return false;
	bed->count = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bed->pid = fork();
	if (bed->pid == 0)
		count_on(bed->count);
	snprintf(path, sizeof(path), "%s/cgroup.procs", bed->folder);
	snprintf(number, sizeof(number), "%d", (int)bed->pid);
	if (write_text(path, number))
		return true;
	end(bed);
	return false;
}

static void wait_until_counted(const struct bed *bed)
{
	uint64_t before = *bed->count;

	for (int i = 0; i < TRIES && *bed->count == before; i++)
		usleep(PAUSE_US);
	assert_true(*bed->count != before);
}

static void check(struct bed *bed, bool is_of_v1)
{
	struct clv_freezer freezer;
	uint64_t count;

	assert_int_equal(clv_freezer_find(bed->pid, bed->id, &freezer, NULL), 0);
	assert_int_equal(freezer.is_of_v1, is_of_v1);
	assert_false(clv_freezer_is_frozen(&freezer));
	wait_until_counted(bed);
	for (int n = 0; n < 2; n++) {
		assert_int_equal(clv_freezer_freeze(&freezer, NULL), 0);
		for (int i = 0; i < TRIES && !clv_freezer_is_frozen(&freezer); i++)
			usleep(PAUSE_US);
		assert_true(clv_freezer_is_frozen(&freezer));
		count = *bed->count;
		usleep(20 * PAUSE_US);
		assert_int_equal(*bed->count, count);
		assert_int_equal(clv_freezer_thaw(&freezer, NULL), 0);
		wait_until_counted(bed);
	}
	assert_int_equal(clv_freezer_thaw(&freezer, NULL), 0);
}

static void test_version(bool is_of_v1)
{
	struct bed bed = {.pid = -1};

	if (!begin(&bed, is_of_v1))
		skip();
	check(&bed, is_of_v1);
	end(&bed);
}

static void test_version_1(void **state)
{
	test_version(true);
}

static void test_version_2(void **state)
{
	test_version(false);
}

/* A process that is not in a cgroup of the container would take others with it. */
static void test_no_cgroup_of_its_own(void **state)
{
	struct clv_freezer freezer;
	struct clv_error err = {0};

	assert_int_equal(clv_freezer_find(getpid(), "0123456789abcdef0123456789abcdef",
				 &freezer, &err),
		-ENOENT);
	assert_string_equal(freezer.path, "");
	assert_non_null(strstr(err.msg, "no cgroup of its own"));
	assert_int_equal(clv_freezer_find(getpid(), "", &freezer, &err), -ENOENT);
	assert_true(clv_freezer_find(0x7ffffff0, "id", &freezer, &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_1),
		cmocka_unit_test(test_version_2),
		cmocka_unit_test(test_no_cgroup_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
