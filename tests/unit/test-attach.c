/* SPDX-License-Identifier: Apache-2.0 */
/* A gate that gets pages which it cannot map, for want of address space or of anything
 * else: it keeps neither descriptors nor maps.  A gate whose agent is stopped.  And a
 * gate beside an agent of the version before, whose messages are in the file of the first
 * argument. */
#include "gate/attach/attach.c"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int listener, fds[CLV_ATTACH_FDS];
static char path[64];
static const char *recorded_path;
static struct clv_attach_hello heard;
static struct clv_attach_reply sent;
static size_t n_sent, n_sent_fds = CLV_ATTACH_FDS;

/* Answers one attach as the agent, and closes the agent's copies again. */
static void *answer(void *userdata)
{
	struct pollfd comer = {.fd = listener, .events = POLLIN};
	size_t n = 0;
	int fd;

	poll(&comer, 1, -1);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	clv_socket_receive(fd, &heard, sizeof(heard), NULL, &n);
	clv_socket_send(fd, &sent, n_sent, fds, sent.status == 0 ? n_sent_fds : 0);
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

static void open_pages(void)
{
	fds[CLV_ATTACH_FD_CONTROL] = make_page(CLV_CONTROL_PAGE_BYTES);
	fds[CLV_ATTACH_FD_REPORT] = make_page(CLV_REPORT_PAGE_BYTES);
	fds[CLV_ATTACH_FD_DOORBELL] = open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static void close_pages(void)
{
	for (size_t i = 0; i < CLV_ATTACH_FDS; i++)
		close(fds[i]);
}

/* The view, where the reply is believed. */
static struct clv_view *attach_as(uint32_t api)
{
	enum clv_attachment attachment;
	struct clv_view *view = NULL;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, answer, NULL), 0);
	attachment = clv_attach(api, NULL, true, &view);
	pthread_join(thread, NULL);
	assert_int_equal(attachment, view ? CLV_ATTACHED : CLV_REFUSED);
	return view;
}

static void end_view(struct clv_view *view)
{
	if (view)
		clv_attach_close(view);
	free(view);
}

/* missing: the descriptor that cannot be mapped. */
static void attach_without(int missing)
{
	struct clv_view *view;
	size_t n_files, n_pages;

	sent = (struct clv_attach_reply){
		.magic = CLV_ATTACH_MAGIC, .version = CLV_ATTACH_VERSION};
	n_sent = sizeof(sent);
	open_pages();
	if (missing >= 0) {
		close(fds[missing]);
		/* A folder cannot be mapped. */
		fds[missing] = open("/", O_RDONLY | O_CLOEXEC);
	}
	n_files = count_files();
	n_pages = count_pages();
	view = attach_as(CLV_ATTACH_API_OPENCL);
	assert_int_equal(view != NULL, missing < 0);
	/* Of an attached process: the socket, the report page and the doorbell. */
	assert_int_equal(count_files(), n_files + (missing < 0 ? 3 : 0));
	assert_int_equal(count_pages(), n_pages + (missing < 0 ? 2 : 0));
	end_view(view);
	close_pages();
}

static void test_attached(void **state)
{
	attach_without(-1);
}

/* No descriptor is kept of a reply that has not all, and the error says what there was.
 */
static void test_incomplete_reply(void **state)
{
	struct clv_lease_place place;
	struct clv_error err = {0};
	struct clv_view *view = NULL;
	pthread_t thread;
	size_t n_files;

	assert_int_equal(clv_lease_find(CLV_ATTACH_API_OPENCL, &place, &err), 0);

	sent = (struct clv_attach_reply){
		.magic = CLV_ATTACH_MAGIC, .version = CLV_ATTACH_VERSION, .slot = 7};
	n_sent = sizeof(sent);
	open_pages();
	n_files = count_files();
	n_sent_fds = CLV_ATTACH_FDS - 1;
	assert_int_equal(pthread_create(&thread, NULL, answer, NULL), 0);
	assert_int_equal(
		attach_once(&place, CLV_ATTACH_API_OPENCL, NULL, &view, &err), -EPROTO);
	pthread_join(thread, NULL);
	n_sent_fds = CLV_ATTACH_FDS;
	assert_null(view);
	assert_string_equal(
		err.msg, "the agent's reply is incomplete (2 of 3 descriptors, slot 7)");
	assert_int_equal(count_files(), n_files);
	close_pages();
}

static void test_no_control_page(void **state)
{
	attach_without(CLV_ATTACH_FD_CONTROL);
}

static void test_no_report_page(void **state)
{
	attach_without(CLV_ATTACH_FD_REPORT);
}

/* An agent that is stopped when the gate comes: a process that listens and answers. */
static pid_t start_stopped(void)
{
	pid_t agent;
	int status;

	close(listener);
	unlink(path);
	agent = fork();
	if (agent == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		listener = clv_socket_listen(path, SOCK_SEQPACKET, 0600, NULL);
		raise(SIGSTOP);
		answer(NULL);
		pause();
		_exit(0);
	}
	assert_int_equal(waitpid(agent, &status, WUNTRACED), agent);
	assert_true(WIFSTOPPED(status));
	return agent;
}

static void end_stopped(pid_t agent)
{
	kill(agent, SIGKILL);
	waitpid(agent, NULL, 0);
	listener = clv_socket_listen(path, SOCK_SEQPACKET, 0600, NULL);
	assert_true(listener >= 0);
}

/* What the gate says on stderr, as far as the first line, after which the agent is
 * continued. */
struct said {
	pid_t to_continue; /* 0: none */
	int fd;
	char lines[2048];
};

static void *listen_to(void *userdata)
{
	struct said *said = userdata;
	size_t used = 0;
	ssize_t n;

	while ((n = read(said->fd, said->lines + used, sizeof(said->lines) - 1 - used)) >
		0) {
		used += (size_t)n;
		if (said->to_continue)
			kill(said->to_continue, SIGCONT);
		said->to_continue = 0;
	}
	return NULL;
}

static enum clv_attachment attach_and_listen(struct said *said, struct clv_view **ret)
{
	int ends[2], before = dup(STDERR_FILENO);
	enum clv_attachment outcome;
	pthread_t thread;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	said->fd = ends[0];
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	assert_int_equal(pthread_create(&thread, NULL, listen_to, said), 0);
	outcome = clv_attach(CLV_ATTACH_API_OPENCL, NULL, false, ret);
	dup2(before, STDERR_FILENO);
	pthread_join(thread, NULL);
	close(before);
	close(ends[0]);
	return outcome;
}

/* The agent stays stopped: the gate does not wait as long as for one that is slow. */
static void test_stopped(void **state)
{
	struct said said = {0};
	struct clv_view *view = NULL;
	pid_t agent = start_stopped();
	char words[80];

	assert_int_equal(attach_and_listen(&said, &view), CLV_REFUSED);
	snprintf(words, sizeof(words), "the agent (process %d) is stopped; continue",
		(int)agent);
	assert_non_null(strstr(said.lines, words));
	end_stopped(agent);
}

static void test_continued(void **state)
{
	struct clv_view *view = NULL;
	struct said said = {0};
	pid_t agent;

	fds[CLV_ATTACH_FD_CONTROL] = make_page(CLV_CONTROL_PAGE_BYTES);
	fds[CLV_ATTACH_FD_REPORT] = make_page(CLV_REPORT_PAGE_BYTES);
	fds[CLV_ATTACH_FD_DOORBELL] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	agent = start_stopped();
	said.to_continue = agent;
	assert_int_equal(attach_and_listen(&said, &view), CLV_ATTACHED);
	assert_non_null(strstr(said.lines, "which is stopped: continue it"));
	clv_attach_close(view);
	free(view);
	for (size_t i = 0; i < CLV_ATTACH_FDS; i++)
		close(fds[i]);
	end_stopped(agent);
}

/* A message of the file, whose lines have a name, a length, and OFFSET:HEX for
 * the bytes that are not 0; returns its length. */
static size_t read_recorded(const char *name, void *ret, size_t n_room)
{
	FILE *file = fopen(recorded_path, "re");
	char line[16384], *word, *rest = NULL;
	size_t n_bytes = 0;

	assert_non_null(file);
	memset(ret, 0, n_room);
	while (n_bytes == 0 && fgets(line, sizeof(line), file)) {
		if (strcmp(strtok_r(line, " \n", &rest), name) == 0)
			n_bytes = strtoul(strtok_r(NULL, " \n", &rest), NULL, 10);
	}
	fclose(file);
	assert_in_range(n_bytes, 1, n_room);
	while ((word = strtok_r(NULL, " \n", &rest))) {
		size_t at = strtoul(word, &word, 10);

		for (unsigned byte; sscanf(++word, "%2x", &byte) == 1; word++)
			((unsigned char *)ret)[at++] = (unsigned char)byte;
		assert_in_range(at, 1, n_bytes);
	}
	return n_bytes;
}

/* An agent of the version before gets what its own gates say. */
static void test_hello_as_before(void **state)
{
	static const char *const names[] = {[CLV_ATTACH_API_OPENCL] = "hello-opencl",
		[CLV_ATTACH_API_CUDA] = "hello-cuda",
		[CLV_ATTACH_API_HIP] = "hello-hip"};
	struct clv_attach_hello before;

	n_sent = read_recorded("refusal", &sent, sizeof(sent));
	for (uint32_t api = CLV_ATTACH_API_OPENCL; api <= CLV_ATTACH_API_HIP; api++) {
		assert_null(attach_as(api));
		assert_int_equal(read_recorded(names[api], &before, sizeof(before)),
			sizeof(heard));
		assert_memory_equal(&heard, &before, sizeof(heard));
	}
}

static void believe(const char *name, bool names_devices)
{
	struct clv_view *view;

	n_sent = read_recorded(name, &sent, sizeof(sent));
	open_pages();
	view = attach_as(CLV_ATTACH_API_OPENCL);
	assert_non_null(view);
	assert_string_equal(view->platform, "Portable Computing Language");
	assert_true(strlen(view->model) > 0);
	assert_string_equal(view->model, sent.model);
	assert_string_equal(view->devices, sent.devices);
	assert_int_equal(strlen(view->devices), names_devices ? 36 : 0);
	assert_int_equal(view->slot_index, 1);
	assert_int_equal(view->ordinal, 0);
	assert_int_equal(view->slot->pid, 4242);
	end_view(view);
	close_pages();
}

static void test_replies_of_before(void **state)
{
	believe("reply", true);
	believe("reply-first", false);
}

/* `open` is for where there is no agent. */
static void test_a_refusal_is_not_the_lack_of_an_agent(void **state)
{
	struct clv_view *view = NULL;
	pthread_t thread;

	n_sent = read_recorded("refusal", &sent, sizeof(sent));
	setenv(CLV_ATTACH_ENV_IF_NO_AGENT, "open", 1);
	assert_int_equal(pthread_create(&thread, NULL, answer, NULL), 0);
	assert_int_equal(
		clv_attach(CLV_ATTACH_API_OPENCL, NULL, true, &view), CLV_REFUSED);
	pthread_join(thread, NULL);
	close(listener);
	assert_int_equal(
		clv_attach(CLV_ATTACH_API_OPENCL, NULL, true, &view), CLV_UNGATED);
	listener = clv_socket_listen(path, SOCK_SEQPACKET, 0600, NULL);
	assert_true(listener >= 0);
	unsetenv(CLV_ATTACH_ENV_IF_NO_AGENT);
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attached),
		cmocka_unit_test(test_incomplete_reply),
		cmocka_unit_test(test_no_control_page),
		cmocka_unit_test(test_no_report_page),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_continued),
		cmocka_unit_test(test_hello_as_before),
		cmocka_unit_test(test_replies_of_before),
		cmocka_unit_test(test_a_refusal_is_not_the_lack_of_an_agent),
	};

	recorded_path = argc > 1 ? argv[1] : "";

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
