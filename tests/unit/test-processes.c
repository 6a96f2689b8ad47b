/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: identity, ancestors, end and mapped files; and the locks of devices. */
#include "agent/device/device-lock.h"
#include "agent/os/maps.h"
#include "agent/os/page-search.h"
#include "agent/os/processes.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static pid_t start_sleeper(void)
{
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void test_name_with_parentheses(void **state)
{
	uint64_t start_ticks = 0, again = 1;
	pid_t parent = 0;

	prctl(PR_SET_NAME, "a) S 1 (b 2 3 4");
	assert_int_equal(clv_process_read(getpid(), &parent, &start_ticks), 0);
	prctl(PR_SET_NAME, "plain");
	assert_int_equal(parent, getppid());
	clv_process_read(getpid(), NULL, &again);
	assert_int_equal(start_ticks, again);
	assert_true(start_ticks > 0);
}

static void test_open_knows_the_start_time(void **state)
{
	struct clv_process_id id = {.pid = start_sleeper()};
	int pidfd;

	clv_process_read(id.pid, NULL, &id.start_ticks);
	pidfd = clv_process_open(&id);
	assert_true(pidfd >= 0);
	assert_false(clv_process_is_dead(pidfd));
	id.start_ticks++;
	assert_int_equal(clv_process_open(&id), -ESRCH);
	id.start_ticks--;
	kill(id.pid, SIGKILL);
	/* A zombie has ended, although it still has its pid. */
	for (int i = 0; i < 60000 && !clv_process_is_dead(pidfd); i++)
		usleep(1000);
	assert_true(clv_process_is_dead(pidfd));
	assert_int_equal(clv_process_open(&id), -ESRCH);
	close(pidfd);
	end(id.pid);
	id.pid = 0;
	assert_int_equal(clv_process_open(&id), -ESRCH);
}

static bool is_id(void *userdata, const struct clv_process_id *id)
{
	const struct clv_process_id *wanted = userdata;

	return id->pid == wanted->pid && id->start_ticks == wanted->start_ticks;
}

static void test_tree(void **state)
{
	struct clv_process_id self = {.pid = getpid()}, sibling;
	int fds[2];
	pid_t child, grandchild = 0;

	clv_process_read(self.pid, NULL, &self.start_ticks);
	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		grandchild = start_sleeper();
		if (write(fds[1], &grandchild, sizeof(grandchild)) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(
		read(fds[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	sibling = (struct clv_process_id){.pid = start_sleeper()};
	clv_process_read(sibling.pid, NULL, &sibling.start_ticks);

	assert_true(clv_process_has_ancestor(grandchild, is_id, &self));
	assert_true(clv_process_has_ancestor(self.pid, is_id, &self));
	assert_false(clv_process_has_ancestor(grandchild, is_id, &sibling));
	assert_true(clv_process_has_ancestor(sibling.pid, is_id, &sibling));
	self.start_ticks--;
	assert_false(clv_process_has_ancestor(grandchild, is_id, &self));
	self.start_ticks++;

	/* An orphan gets another parent, and is not a descendant any more. */
	end(child);
	assert_false(clv_process_has_ancestor(grandchild, is_id, &self));
	kill(grandchild, SIGKILL);
	end(sibling.pid);
	close(fds[0]);
	close(fds[1]);
}

static void test_peer_of_socket(void **state)
{
	struct clv_peer peer = {0};
	int fds[2], pidfd = -1;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	assert_int_equal(clv_process_of_socket(fds[0], &peer, &pidfd, NULL), 0);
	assert_int_equal(peer.id.pid, getpid());
	assert_int_equal(peer.uid, geteuid());
	assert_true(pidfd >= 0 && peer.id.start_ticks > 0);
	close(pidfd);
	close(fds[0]);
	close(fds[1]);
}

/* A kernel before Linux 6.5 has no SO_PEERPIDFD. */
static bool is_old_kernel;

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *length);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length);

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	if (is_old_kernel && level == SOL_SOCKET && name == 77) {
		errno = ENOPROTOOPT;
		return -1;
	}
	return __real_getsockopt(fd, level, name, value, length);
}

static void test_peer_on_an_old_kernel(void **state)
{
	struct clv_peer gone = {.uid = 77};
	struct clv_error err = {0};
	int pidfd = -1;

	is_old_kernel = true;
	test_peer_of_socket(state);
	is_old_kernel = false;
	assert_int_equal(clv_process_of_socket(-1, &gone, &pidfd, &err), -EBADF);
	assert_int_equal(gone.uid, 77);
}

static void test_peer_that_is_gone(void **state)
{
	struct clv_peer peer = {.uid = 77};
	struct clv_error err = {0};
	int fds[2], pidfd = -1;
	pid_t child;

	for (int i = 0; i < 2; i++) {
		is_old_kernel = i == 1;
		fds[0] = socket(AF_UNIX, SOCK_STREAM, 0);
		assert_int_equal(bind(fds[0],
					 (struct sockaddr *)&(struct sockaddr_un){
						 .sun_family = AF_UNIX,
						 .sun_path = "\0clv-test-peer"},
					 sizeof(struct sockaddr_un)),
			0);
		assert_int_equal(listen(fds[0], 1), 0);
		child = fork();
		if (child == 0) {
			struct sockaddr_un address = {
				.sun_family = AF_UNIX, .sun_path = "\0clv-test-peer"};
			int fd = socket(AF_UNIX, SOCK_STREAM, 0);

			_exit(connect(fd, (struct sockaddr *)&address, sizeof(address)) <
				0);
		}
		fds[1] = accept(fds[0], NULL, NULL);
		waitpid(child, NULL, 0);
		assert_int_equal(
			clv_process_of_socket(fds[1], &peer, &pidfd, &err), -ESRCH);
		assert_int_equal(peer.uid, 77);
		close(fds[0]);
		close(fds[1]);
	}
	is_old_kernel = false;
}

static void test_maps(void **state)
{
	int fd = memfd_create("a page", MFD_CLOEXEC);
	struct stat st;
	void *map;

	assert_int_equal(ftruncate(fd, 4096), 0);
	fstat(fd, &st);
	assert_int_equal(clv_maps_file(getpid(), st.st_dev, st.st_ino), 0);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	assert_int_equal(clv_maps_file(getpid(), st.st_dev, st.st_ino), 1);
	munmap(map, 4096);
	assert_int_equal(clv_maps_file(getpid(), st.st_dev, st.st_ino), 0);
	close(fd);
}

/* The only child of this process. */
static pid_t the_child(void)
{
	FILE *children;
	char path[64];
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	children = fopen(path, "re");
	assert_non_null(children);
	assert_int_equal(fscanf(children, "%d", &pid), 1);
	fclose(children);
	return pid;
}

/* Up to the end of the first one. */
static const char *arguments_of(pid_t pid)
{
	static char arguments[64];
	char path[32];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	n = fread(arguments, 1, sizeof(arguments) - 1, file);
	arguments[n] = '\0';
	fclose(file);
	return arguments;
}

/* A stopped child stands for one that waits for the mmap lock of a process. */
static void test_maps_that_cannot_be_read(void **state)
{
	pid_t first, second;

	assert_int_equal(clv_maps_report(getpid()), 0);
	first = the_child();
	assert_string_equal(arguments_of(first), "cleaved --maps");
	kill(first, SIGSTOP);
	assert_int_equal(clv_maps_report(getpid()), -EAGAIN);
	assert_int_equal(clv_maps_report(getpid()), 0);
	second = the_child();
	assert_int_not_equal(first, second);
	kill(second, SIGKILL);
	clv_maps_report(getpid());
	assert_int_equal(clv_maps_report(getpid()), 0);
}

/* Below a new folder, goes down into folders with long names. */
static void enter_folders(const char *name, int n)
{
	for (int i = 0; i < n; i++) {
		assert_int_equal(mkdir(name, 0700), 0);
		assert_int_equal(chdir(name), 0);
	}
}

static void leave_folders(const char *name, int n)
{
	for (int i = 0; i < n; i++) {
		assert_int_equal(chdir(".."), 0);
		rmdir(name);
	}
}

static double seconds_of_children(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* As many mappings as a process may have, of a file with a path as long as it may be, are
 * no work for the agent: the reader's processor time is bounded. */
static void test_maps_that_take_long(void **state)
{
	char folder[] = "/tmp/maps-XXXXXX", name[251];
	int up[2], n = 0, fd;
	double before;
	pid_t crowded;
	char ready;

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	enter_folders(name, 15);
	fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(pipe(up), 0);
	clv_maps_report(getpid());
	crowded = fork();
	if (crowded == 0) {
		while (n < 65000 && mmap(NULL, 4096, n % 2 ? PROT_READ : PROT_WRITE,
					    MAP_SHARED, fd, 0) != MAP_FAILED)
			n++;
		if (write(up[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(up[0], &ready, 1), 1);
	before = seconds_of_children();
	assert_int_equal(clv_maps_report(crowded), -EAGAIN);
	assert_true(seconds_of_children() - before < 0.5);
	assert_int_equal(clv_maps_report(getpid()), 0);
	end(crowded);
	close(fd);
	unlink("file");
	leave_folders(name, 15);
	rmdir(folder);
	close(up[0]);
	close(up[1]);
}

static void test_maps_of_others(void **state)
{
	struct clv_maps_search search = {.pid = getpid(),
		.n = 3,
		.are_names = true,
		.texts = {"libc.so", "", "no-such-library"}};
	struct clv_maps_found found;

	assert_int_equal(clv_maps_search(&search, &found), 0);
	assert_int_equal(found.texts, 1);
	assert_int_equal(found.file_fd, -1);
	search.pid = 0x3fffffff; /* no such process */
	assert_int_equal(clv_maps_search(&search, &found), 0);
	assert_int_equal(found.texts, 0);
}

static void test_file_of_maps(void **state)
{
	struct clv_maps_search search = {.pid = getpid(), .wants_file = true};
	int fd = memfd_create("a page", MFD_CLOEXEC);
	struct clv_maps_found found;
	struct stat st, other;
	void *map;

	assert_int_equal(ftruncate(fd, 4096), 0);
	fstat(fd, &st);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	clv_maps_text(&search, st.st_dev, st.st_ino);
	assert_int_equal(clv_maps_search(&search, &found), 0);
	assert_int_equal(found.texts, 1);
	/* The kernel opens it for a privileged process only. */
	if (found.file_fd >= 0) {
		fstat(found.file_fd, &other);
		assert_int_equal(other.st_ino, st.st_ino);
		close(found.file_fd);
	} else {
		assert_int_not_equal(geteuid(), 0);
	}
	munmap(map, 4096);
}

/* Searches for the sharer of a process that has ended, which had the addresses of this
 * one. The reader is stopped: the first search of mappings fails, and the next ones do
 * not. */
static pid_t find_sharer(pid_t reader, uint64_t page)
{
	struct clv_page_user user = {.id = {.pid = 0x3fffffff}, .page = page};
	struct clv_process_id sharer = {.pid = 0};
	bool is_found;

	assert_int_equal(clv_process_read_layout(getpid(), &user.layout), 0);
	clv_page_exclude(reader);
	kill(reader, SIGSTOP);
	is_found = clv_page_find_sharer(&user, &sharer);
	clv_page_forget_all();
	return is_found ? sharer.pid : 0;
}

/* A process whose mappings cannot be read may be the sharer, so its memory stays charged.
 */
static void test_sharer_that_cannot_be_read(void **state)
{
	int fd = memfd_create("cleave-report", MFD_CLOEXEC);
	pid_t reader, unreadable, sharer;
	struct stat st;
	void *map;

	assert_int_equal(ftruncate(fd, 4096), 0);
	fstat(fd, &st);
	clv_maps_report(getpid());
	reader = the_child();
	unreadable = start_sleeper();
	assert_int_equal(find_sharer(reader, st.st_ino), unreadable);
	clv_maps_report(getpid());
	end(unreadable);
	reader = the_child();
	unreadable = start_sleeper();
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	sharer = start_sleeper();
	munmap(map, 4096);
	assert_int_equal(find_sharer(reader, st.st_ino), sharer);
	end(unreadable);
	end(sharer);
	close(fd);
}

static void count(void *userdata)
{
	++*(int *)userdata;
}

static void test_watch(void **state)
{
	struct clv_process_id id = {.pid = start_sleeper()};
	struct clv_watch *watch = NULL;
	sd_event *event = NULL;
	int n_calls = 0;

	assert_true(sd_event_new(&event) >= 0);
	clv_process_read(id.pid, NULL, &id.start_ticks);
	assert_int_equal(
		clv_watch_new(event, clv_process_open(&id), count, &n_calls, &watch), 0);
	sd_event_run(event, 10000);
	assert_int_equal(n_calls, 0);
	assert_int_equal(clv_watch_signal(watch, SIGKILL), 0);
	sd_event_run(event, 2000000);
	assert_int_equal(n_calls, 1);
	assert_true(clv_watch_is_dead(watch));
	sd_event_run(event, 10000);
	assert_int_equal(n_calls, 1);
	clv_watch_free(watch);
	sd_event_unref(event);
	end(id.pid);
}

static void test_device_lock(void **state)
{
	char path[128], folder_path[] = "/tmp/clv-locks-XXXXXX";
	struct clv_lock_folder folder = {folder_path, true};
	struct clv_error err = {0};
	int fd, second;

	assert_non_null(mkdtemp(folder_path));
	fd = clv_device_lock(&folder, "../a b", "/run/x.sock", &err);
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "%s/cleave-___a_b.lock", folder_path);
	assert_int_equal(access(path, F_OK), 0);
	/* A second open file description is what another process would have. */
	second = clv_device_lock(&folder, "../a b", "/run/y.sock", &err);
	assert_int_equal(second, -EADDRINUSE);
	assert_non_null(strstr(err.msg, "/run/x.sock"));
	close(fd);
	fd = clv_device_lock(&folder, "../a b", "/run/y.sock", &err);
	assert_true(fd >= 0);
	close(fd);
	/* A symbolic link in place of the lock file is not followed. */
	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(
		clv_device_lock(&folder, "../a b", "/run/y.sock", &err), -EACCES);
	unlink(path);
	rmdir(folder_path);
}

/* What others may have written into a lock file is not shown; the kernel's table names
 * the process. */
static void test_device_lock_of_users(void **state)
{
	char path[128], pid[32], folder_path[] = "/tmp/clv-locks-XXXXXX";
	struct clv_lock_folder folder = {folder_path, false};
	struct clv_error err = {0};
	int fd;

	assert_non_null(mkdtemp(folder_path));
	assert_int_equal(clv_device_lock_holder(folder_path, "a"), 0);
	fd = clv_device_lock(&folder, "a", "/run/x.sock", &err);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "agent: run this\n", 16), 16);
	assert_int_equal(clv_device_lock(&folder, "a", "/run/y.sock", &err), -EADDRINUSE);
	assert_null(strstr(err.msg, "run this"));
	snprintf(pid, sizeof(pid), "process %d of user %u", getpid(), geteuid());
	assert_non_null(strstr(err.msg, pid));
	assert_int_equal(clv_device_lock_holder(folder_path, "a"), getpid());
	close(fd);
	assert_int_equal(clv_device_lock_holder(folder_path, "a"), 0);
	snprintf(path, sizeof(path), "%s/cleave-a.lock", folder_path);
	unlink(path);
	rmdir(folder_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_with_parentheses),
		cmocka_unit_test(test_open_knows_the_start_time),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_peer_of_socket),
		cmocka_unit_test(test_peer_on_an_old_kernel),
		cmocka_unit_test(test_peer_that_is_gone),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_maps_that_cannot_be_read),
		cmocka_unit_test(test_maps_that_take_long),
		cmocka_unit_test(test_maps_of_others),
		cmocka_unit_test(test_file_of_maps),
		cmocka_unit_test(test_sharer_that_cannot_be_read),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_device_lock),
		cmocka_unit_test(test_device_lock_of_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
