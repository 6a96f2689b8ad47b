/* SPDX-License-Identifier: Apache-2.0 */
/* A gate that gets pages which it cannot map, for want of address space or for another
 * reason, closes the descriptors and removes the maps. */
#include "gate/attach/attach.c"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static int listener, fds[CLV_ATTACH_FDS];
static char path[64];

/* Answers one attach as the agent, and closes the agent's copies again. */
static void *answer(void *userdata)
{
	struct clv_attach_reply reply = {
		.magic = CLV_ATTACH_MAGIC, .version = CLV_ATTACH_VERSION};
	struct pollfd comer = {.fd = listener, .events = POLLIN};
	struct clv_attach_hello hello;
	size_t n = 0;
	int fd;

	(void)userdata;
	poll(&comer, 1, -1);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	clv_socket_receive(fd, &hello, sizeof(hello), NULL, &n);
	clv_socket_send(fd, &reply, sizeof(reply), fds, CLV_ATTACH_FDS);
	close(fd);
	return NULL;
}

static int make_page(size_t n_bytes)
{
	int fd = memfd_create("page", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)n_bytes), 0);
	return fd;
}

static size_t count_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

static size_t count_pages(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	size_t n = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "memfd:page") != NULL;
	fclose(maps);
	return n;
}

/* missing: the descriptor that cannot be mapped. */
static void attach_without(int missing)
{
	struct clv_view *view = NULL;
	size_t n_files, n_pages;
	pthread_t thread;

	fds[CLV_ATTACH_FD_CONTROL] = make_page(CLV_CONTROL_PAGE_BYTES);
	fds[CLV_ATTACH_FD_REPORT] = make_page(CLV_REPORT_PAGE_BYTES);
	fds[CLV_ATTACH_FD_DOORBELL] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (missing >= 0) {
		close(fds[missing]);
		/* A folder cannot be mapped. */
		fds[missing] = open("/", O_RDONLY | O_CLOEXEC);
	}
	n_files = count_files();
	n_pages = count_pages();
	assert_int_equal(pthread_create(&thread, NULL, answer, NULL), 0);
	assert_int_equal(clv_attach(CLV_ATTACH_API_OPENCL, NULL, true, &view),
		missing < 0 ? CLV_ATTACHED : CLV_REFUSED);
	pthread_join(thread, NULL);
	/* Of an attached process: the socket, the report page and the doorbell. */
	assert_int_equal(count_files(), n_files + (missing < 0 ? 3 : 0));
	assert_int_equal(count_pages(), n_pages + (missing < 0 ? 2 : 0));
	if (view)
		clv_attach_close(view);
	free(view);
	for (size_t i = 0; i < CLV_ATTACH_FDS; i++)
		close(fds[i]);
}

static void test_attached(void **state)
{
	attach_without(-1);
}

static void test_no_control_page(void **state)
{
	attach_without(CLV_ATTACH_FD_CONTROL);
}

static void test_no_report_page(void **state)
{
	attach_without(CLV_ATTACH_FD_REPORT);
}

static int set_up(void **state)
{
	char folder[] = "/tmp/cleave-attach-XXXXXX";

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/lease.sock", folder);
	setenv(CLV_ATTACH_ENV, path, 1);
	listener = clv_socket_listen(path, SOCK_SEQPACKET, 0600, NULL);
	return listener < 0;
}

static int tear_down(void **state)
{
	close(listener);
	unlink(path);
	*strrchr(path, '/') = '\0';
	return rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attached),
		cmocka_unit_test(test_no_control_page),
		cmocka_unit_test(test_no_report_page),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
