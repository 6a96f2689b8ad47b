/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of libcleave to servers that answer in pieces, too early, too late, not at
 * all, or not with HTTP. */
#include "client/transport.h"

#include "base/cleanup.h"

#include <cleave.h>
#include <errno.h>
#include <pthread.h>
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

#define LARGE_BYTES (1u << 20)

/* A server for one connection. */
struct server {
	char folder[32];
	struct sockaddr_un address;
	int listener;
	pthread_t thread;
	size_t n_to_read;
	const char *answer;
	bool is_in_pieces;
	int keep_fd; /* stays open until the server is stopped if over 0 */
};

static void *serve(void *userdata)
{
	struct server *s = userdata;
	int fd = accept(s->listener, NULL, NULL);
	size_t n = strlen(s->answer), piece = s->is_in_pieces ? 1 : n;
	char request[4096];

	while (s->n_to_read > 0) {
		ssize_t got = recv(fd, request,
			s->n_to_read < sizeof(request) ? s->n_to_read : sizeof(request),
			0);

		if (got <= 0)
			break;
		s->n_to_read -= (size_t)got;
	}
	for (size_t at = 0; at < n; at += piece) {
		send(fd, s->answer + at, piece, MSG_NOSIGNAL);
		if (s->is_in_pieces)
			sched_yield();
	}
	if (s->keep_fd)
		s->keep_fd = fd;
	else
		close(fd);
	return NULL;
}

static void start(struct server *s)
{
	strcpy(s->folder, "/tmp/transport-XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	s->address.sun_family = AF_UNIX;
	snprintf(
		s->address.sun_path, sizeof(s->address.sun_path), "%s/socket", s->folder);
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->listener, (const struct sockaddr *)&s->address,
				 sizeof(s->address)),
		0);
	assert_int_equal(listen(s->listener, 1), 0);
}

static void stop(struct server *s)
{
	close(s->listener);
	if (s->keep_fd > 0)
		close(s->keep_fd);
	unlink(s->address.sun_path);
	rmdir(s->folder);
}

static const struct clv_request get = {
	.method = "GET",
	.path = "/v1/version",
	.content_type = "application/json",
	.idempotency_key = "",
	.timeout_ms = 10000,
};

static int request(struct server *s, const struct clv_request *request, int interrupt_fd,
	struct clv_response *ret, struct clv_client_error *err)
{
	struct clv_transport *transport;
	int r;

	assert_int_equal(
		clv_transport_new(s->address.sun_path, interrupt_fd, &transport, err), 0);
	r = clv_transport_request(transport, request, ret, err);
	clv_transport_free(transport);
	return r;
}

static int ask(const char *answer, bool is_in_pieces, struct clv_response *ret,
	struct clv_client_error *err)
{
	struct server s = {
		.answer = answer, .is_in_pieces = is_in_pieces, .n_to_read = 40};
	int r;

	start(&s);
	assert_int_equal(pthread_create(&s.thread, NULL, serve, &s), 0);
	r = request(&s, &get, -1, ret, err);
	pthread_join(s.thread, NULL);
	stop(&s);
	return r;
}

static void test_answers(void **state)
{
	static const struct {
		const char *answer, *body;
		long status;
		int error;
	} cases[] = {
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "{}", 200, 0},
		{"HTTP/1.1 200 OK\r\nA: b\r\ncontent-length:2\r\nC: d\r\n\r\n{}", "{}",
			200, 0},
		{"HTTP/1.0 404\r\nContent-Length: 0\r\n\r\n", "", 404, 0},
		{"HTTP/1.1 204 No Content\r\n\r\n", "", 204, 0},
		{"", NULL, 0, -ECONNRESET},
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", NULL, 0, -ECONNRESET},
		{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", NULL, 0, -ECONNRESET},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{}", "{", 200, 0},
		{"HTTP/1.1 200 OK\r\n\r\n{}", NULL, 0, -EBADMSG},
		{"HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n", NULL, 0, -EBADMSG},
		{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", NULL, 0, -EBADMSG},
		{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
			NULL, 0, -EBADMSG},
		{"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
			NULL, 0, -EBADMSG},
		{"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", NULL, 0,
			-EMSGSIZE},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", NULL,
			0, -EBADMSG},
		{"HTTP/1.1 100 Continue\r\n\r\n", NULL, 0, -EBADMSG},
		{"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", NULL, 0, -EBADMSG},
		{"HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n", NULL, 0, -EBADMSG},
		{"SSH-2.0-OpenSSH_9.2\r\n\r\n", NULL, 0, -EBADMSG},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(cases) * 2; i++) {
		struct clv_response response = {};
		struct clv_client_error err = {};
		int r = ask(cases[i / 2].answer, i % 2 == 1, &response, &err);

		assert_int_equal(r, cases[i / 2].error);
		if (r == 0) {
			assert_int_equal(response.status, cases[i / 2].status);
			assert_string_equal(response.body, cases[i / 2].body);
			assert_int_equal(response.n_bytes, strlen(cases[i / 2].body));
		} else {
			assert_string_not_equal(err.msg, "");
		}
		free(response.body);
	}
}

static void test_early_answer(void **state)
{
	struct server s = {
		.answer = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}",
		.n_to_read = 40};
	struct clv_request large = get;
	struct clv_response response = {};
	struct clv_client_error err = {};

	large.body = calloc(1, LARGE_BYTES);
	large.n_bytes = LARGE_BYTES;
	start(&s);
	assert_int_equal(pthread_create(&s.thread, NULL, serve, &s), 0);
	assert_int_equal(request(&s, &large, -1, &response, &err), 0);
	assert_int_equal(response.status, 413);
	pthread_join(s.thread, NULL);
	stop(&s);
	free(response.body);
	free((char *)large.body);
}

static void test_no_answer(void **state)
{
	struct server s = {.answer = "HTTP/1.1 200", .n_to_read = 40, .keep_fd = 1};
	struct clv_request brief = get;
	struct clv_response response = {};
	struct clv_client_error err = {};
	int interrupt[2], connection;

	brief.timeout_ms = 50;
	start(&s);
	assert_int_equal(pthread_create(&s.thread, NULL, serve, &s), 0);
	assert_int_equal(request(&s, &brief, -1, &response, &err), -ETIMEDOUT);
	pthread_join(s.thread, NULL);

	assert_int_equal(pipe(interrupt), 0);
	assert_int_equal(write(interrupt[1], "x", 1), 1);
	assert_int_equal(request(&s, &get, interrupt[0], &response, &err), -EINTR);
	close(interrupt[0]);
	close(interrupt[1]);

	/* The connection above waits in the queue of the socket, and one more fits. */
	connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(connection, (const struct sockaddr *)&s.address,
				 sizeof(s.address)),
		0);
	assert_int_equal(request(&s, &brief, -1, &response, &err), -ETIMEDOUT);
	close(connection);

	stop(&s);
	assert_int_equal(request(&s, &get, -1, &response, &err), -ECONNREFUSED);
	assert_string_equal(err.code, "unreachable");
}

static void test_long_path(void **state)
{
	struct clv_client_error err = {};
	struct clv_transport *transport;
	char path[200] = {};

	memset(path, 'a', sizeof(path) - 1);
	assert_int_equal(clv_transport_new(path, -1, &transport, &err), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_early_answer),
		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_long_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
