/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing without waiting: at an agent that does not answer, that answers in pieces,
 * that refuses, and at none. */
#include "base/cleanup.h"

#include <cleave.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
	char folder[32], path[64];
	int listener;
	struct clv_client_publisher *publisher;
	json_t *report;
};

static int set_up(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct world *w = calloc(1, sizeof(*w));
	struct clv_client_options options = {.socket_path = w->path};

	strcpy(w->folder, "/tmp/test-publish-XXXXXX");
	if (!mkdtemp(w->folder))
		return -1;
	snprintf(w->path, sizeof(w->path), "%s/s", w->folder);
	strcpy(address.sun_path, w->path);
	w->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(w->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(w->listener, 1) < 0)
		return -1;
	w->report = json_pack("{s:[], s:[]}", "services", "decisions");
	*state = w;
	return clv_client_publisher_new(&options, "shop", &w->publisher, NULL);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	clv_client_publisher_free(w->publisher);
	if (w->listener >= 0)
		close(w->listener);
	json_decref(w->report);
	unlink(w->path);
	rmdir(w->folder);
	free(w);
	return 0;
}

static int go_on(struct world *w, json_t **ret, struct clv_client_error *err)
{
	short events;
	struct pollfd wait = {.fd = clv_client_publisher_get_fd(w->publisher, &events)};

	wait.events = events;
	assert_int_equal(poll(&wait, 1, 60000), 1);
	return clv_client_publisher_continue(w->publisher, ret, err);
}

/* The first connection of a publisher asks whether anybody listens. */
static int accept_request(struct world *w, char *request, size_t room)
{
	for (;;) {
		int fd = accept(w->listener, NULL, NULL);
		ssize_t n = recv(fd, request, room - 1, 0);

		if (n > 0) {
			request[n] = '\0';
			return fd;
		}
		close(fd);
	}
}

static void test_an_agent_that_does_not_answer(void **state)
{
	struct world *w = *state;
	struct clv_client_error err;
	json_t *answer = NULL;

	/* No process accepts: nothing waits for it. */
	assert_int_equal(
		clv_client_publisher_begin(w->publisher, w->report, 5000, &err), 0);
	assert_int_equal(go_on(w, &answer, &err), -EINPROGRESS);
	assert_int_equal(
		clv_client_publisher_continue(w->publisher, &answer, &err), -EINPROGRESS);
	/* Its queue is full. */
	assert_int_equal(clv_client_publisher_begin(w->publisher, w->report, 5000, &err),
		-ETIMEDOUT);
	assert_string_equal(err.code, "unreachable");
	assert_null(answer);
}

static void test_the_answer_comes_in_pieces(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: "
				   "26\r\n\r\n{\"items\":[{\"id\":\"0123a\"}]}";
	struct world *w = *state;
	struct clv_client_error err;
	json_t *answer = NULL;
	char request[4096];
	int fd;

	assert_int_equal(
		clv_client_publisher_begin(w->publisher, w->report, 5000, &err), 0);
	assert_int_equal(go_on(w, &answer, &err), -EINPROGRESS);
	fd = accept_request(w, request, sizeof(request));
	assert_ptr_equal(
		strstr(request, "PUT /v1/projects/shop?wait_ms=5000 HTTP/1.0\r\n"),
		request);
	assert_non_null(strstr(request, "\r\n\r\n{\"services\":[],\"decisions\":[]}"));
	for (const char *p = text; *p; p++) {
		assert_null(answer);
		assert_int_equal(send(fd, p, 1, MSG_NOSIGNAL), 1);
		assert_int_equal(go_on(w, &answer, &err), p[1] ? -EINPROGRESS : 0);
	}
	assert_int_equal(json_array_size(json_object_get(answer, "items")), 1);
	json_decref(answer);
	close(fd);
}

/* The next report is not kept waiting by the answer to the one before. */
static void test_the_next_report_takes_its_place(void **state)
{
	struct world *w = *state;
	struct clv_client_error err;
	json_t *answer = NULL;
	char request[4096];
	int first, second;

	assert_int_equal(
		clv_client_publisher_begin(w->publisher, w->report, 5000, &err), 0);
	assert_int_equal(go_on(w, &answer, &err), -EINPROGRESS);
	first = accept_request(w, request, sizeof(request));
	assert_int_equal(clv_client_publisher_begin(w->publisher, w->report, 0, &err), 0);
	assert_int_equal(recv(first, request, sizeof(request), 0), 0);
	assert_int_equal(go_on(w, &answer, &err), -EINPROGRESS);
	second = accept_request(w, request, sizeof(request));
	assert_ptr_equal(strstr(request, "PUT /v1/projects/shop HTTP/1.0\r\n"), request);
	/* As an agent of an earlier version answers. */
	dprintf(second, "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n");
	assert_int_equal(go_on(w, &answer, &err), 0);
	assert_int_equal(json_object_size(answer), 0);
	json_decref(answer);
	close(first);
	close(second);
}

static void test_refusals(void **state)
{
	struct world *w = *state;
	struct clv_client_error err;
	json_t *answer = NULL;
	char request[4096];
	int fd;

	assert_int_equal(clv_client_publisher_begin(w->publisher, w->report, 0, &err), 0);
	assert_int_equal(go_on(w, &answer, &err), -EINPROGRESS);
	fd = accept_request(w, request, sizeof(request));
	dprintf(fd, "HTTP/1.1 400 Bad Request\r\nContent-Length: 53\r\n\r\n"
		    "{\"code\":\"bad_request\",\"detail\":\"services is missing\"}\n");
	close(fd);
	assert_true(go_on(w, &answer, &err) < 0);
	assert_int_equal(err.status, 400);
	assert_string_equal(err.msg, "services is missing");
	/* It ends before its answer. */
	assert_int_equal(clv_client_publisher_begin(w->publisher, w->report, 0, &err), 0);
	assert_int_equal(go_on(w, &answer, &err), -EINPROGRESS);
	close(accept_request(w, request, sizeof(request)));
	assert_int_equal(go_on(w, &answer, &err), -ECONNRESET);
	/* There is none. */
	close(w->listener);
	w->listener = -1;
	assert_int_equal(clv_client_publisher_begin(w->publisher, w->report, 0, &err),
		-ECONNREFUSED);
	assert_null(answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_an_agent_that_does_not_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_the_answer_comes_in_pieces, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_the_next_report_takes_its_place, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
