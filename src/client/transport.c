/* SPDX-License-Identifier: Apache-2.0 */
/* Sends one HTTP request with libcurl over a Unix socket, and reads the answer.  The
 * multi interface is used because it can also wait for a descriptor of the caller, so
 * that Ctrl-C ends a long wait at once.  There are no retries and no TLS. */
#include "client/transport.h"

#include "client/error.h"
#include "client/url.h"

#include <cleave.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define RESPONSE_MAX_BYTES (64u << 20)

struct clv_transport {
	CURLM *multi;
	CURL *easy;
	int interrupt_fd;
	char socket_path[108];
};

/* curl's own socket() call lacks SOCK_CLOEXEC on this version; a program that `cleave
 * run` starts must not inherit a connection to the agent. */
static curl_socket_t open_socket(
	void *userdata, curlsocktype purpose, struct curl_sockaddr *address)
{
	return socket(
		address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t take_bytes(char *data, size_t size, size_t n, void *userdata)
{
	struct clv_response *response = userdata;
	size_t more = size * n;
	char *grown;

	if (more > RESPONSE_MAX_BYTES - response->n_bytes)
		return 0;
	grown = realloc(response->body, response->n_bytes + more + 1);
	if (!grown)
		return 0;

	memcpy(grown + response->n_bytes, data, more);
	response->body = grown;
	response->n_bytes += more;
	response->body[response->n_bytes] = '\0';
	return more;
}

struct clv_transport *clv_transport_free(struct clv_transport *t)
{
	if (!t)
		return NULL;

	if (t->easy)
		curl_easy_cleanup(t->easy);
	if (t->multi)
		curl_multi_cleanup(t->multi);
	free(t);
	return NULL;
}

int clv_transport_new(const char *socket_path, int interrupt_fd,
	struct clv_transport **ret, struct clv_client_error *err)
{
	_cleanup_transport_ struct clv_transport *t = calloc(1, sizeof(*t));

	if (!t)
		return clv_client_fail(err, -ENOMEM, "internal", "out of memory");
	if (strlen(socket_path) >= sizeof(t->socket_path))
		return clv_client_fail(err, -ENAMETOOLONG, "bad_request",
			"the socket path %.60s... is over %zu bytes: use a shorter "
			"folder",
			socket_path, sizeof(t->socket_path) - 1);

	strcpy(t->socket_path, socket_path);
	t->interrupt_fd = interrupt_fd;
	/* Nothing global is needed: no TLS, no resolver.  It also keeps a cold start
	 * short. */
	curl_global_init(CURL_GLOBAL_NOTHING);
	t->multi = curl_multi_init();
	t->easy = curl_easy_init();
	if (!t->multi || !t->easy)
		return clv_client_fail(err, -ENOMEM, "internal", "out of memory");

	*ret = CLV_TAKE(t);
	return 0;
}

static void prepare(struct clv_transport *t, const struct clv_request *request,
	const char *url, struct curl_slist *headers, struct clv_response *response)
{
	curl_easy_reset(t->easy);
	curl_easy_setopt(t->easy, CURLOPT_UNIX_SOCKET_PATH, t->socket_path);
	curl_easy_setopt(t->easy, CURLOPT_URL, url);
	curl_easy_setopt(t->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, request->method);
	curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
	curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, response);
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, headers);
	if (!request->body)
		return;
	curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, request->body);
	curl_easy_setopt(
		t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->n_bytes);
}

/* Returns 0 with *ret_result set once the transfer is over, or -EINTR. */
static int run_transfer(struct clv_transport *t, CURLcode *ret_result)
{
	struct curl_waitfd extra = {.fd = t->interrupt_fd, .events = CURL_WAIT_POLLIN};
	unsigned int n_extra = t->interrupt_fd > 0;
	int running = 1, n_messages;
	CURLMsg *message;

	for (;;) {
		if (curl_multi_perform(t->multi, &running) != CURLM_OK)
			return -EIO;
		if (!running)
			break;
		if (curl_multi_poll(t->multi, &extra, n_extra, 60000, NULL) != CURLM_OK)
			return -EIO;
		if (n_extra && extra.revents)
			return -EINTR;
	}
	message = curl_multi_info_read(t->multi, &n_messages);
	if (!message || message->msg != CURLMSG_DONE)
		return -EIO;

	*ret_result = message->data.result;
	return 0;
}

static int fail_transfer(
	struct clv_transport *t, CURLcode result, struct clv_client_error *err)
{
	if (result == CURLE_OPERATION_TIMEDOUT)
		return clv_client_fail(err, -ETIMEDOUT, "unreachable",
			"the agent on %s does not answer: see its log, or restart it",
			t->socket_path);
	if (result == CURLE_WRITE_ERROR)
		return clv_client_fail(err, -EMSGSIZE, "bad_reply",
			"the answer of the agent on %s is too large", t->socket_path);
	return clv_client_fail(err,
		result == CURLE_COULDNT_CONNECT ? -ECONNREFUSED : -ECONNRESET,
		"unreachable",
		"the agent on %s cannot be reached (%s): start it with cleaved, or let "
		"cleave run start one",
		t->socket_path, curl_easy_strerror(result));
}

/* Appends a header.  Without memory the list is freed and NULL returned. */
static struct curl_slist *append(struct curl_slist *list, const char *header)
{
	struct curl_slist *longer = curl_slist_append(list, header);

	if (!longer)
		curl_slist_free_all(list);
	return longer;
}

int clv_transport_request(struct clv_transport *t, const struct clv_request *request,
	struct clv_response *ret, struct clv_client_error *err)
{
	char url[CLV_URL_MAX + 32], header[80];
	struct clv_response response = {};
	CURLcode result = CURLE_OK;
	struct curl_slist *headers;
	int r;

	snprintf(url, sizeof(url), "http://localhost%s", request->path);
	snprintf(header, sizeof(header), "Content-Type: %s", request->content_type);
	headers = curl_slist_append(NULL, header);
	if (headers && request->idempotency_key[0] != '\0') {
		snprintf(header, sizeof(header), "Idempotency-Key: %s",
			request->idempotency_key);
		headers = append(headers, header);
	}
	if (!headers)
		return clv_client_fail(err, -ENOMEM, "internal", "out of memory");
	prepare(t, request, url, headers, &response);
	curl_multi_add_handle(t->multi, t->easy);
	r = run_transfer(t, &result);
	curl_multi_remove_handle(t->multi, t->easy);
	curl_slist_free_all(headers);
	if (r == 0 && result == CURLE_OK && !response.body)
		response.body = strdup("");
	if (r == 0 && result == CURLE_OK && response.body) {
		curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &response.status);
		*ret = response;
		return 0;
	}

	free(response.body);
	if (r == -EINTR)
		return clv_client_fail(err, r, "interrupted", "interrupted");
	if (r < 0)
		return clv_client_fail(err, r, "internal", "libcurl failed");
	return fail_transfer(t, result, err);
}
