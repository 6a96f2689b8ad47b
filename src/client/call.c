/* SPDX-License-Identifier: Apache-2.0 */
/* Sends a request and reads the answer.  The agent alone validates requests, since its
 * messages say why one is refused. */
#include "client/call.h"

#include "client/connection.h"
#include "client/error.h"
#include "client/transport.h"

#include <assert.h>
#include <cleave.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define CALL_TIMEOUT_MS 10000u
#define PPM 1e6
#define KEY_MAX 40

static int parse_body(
	const struct clv_response *response, json_t **ret, struct clv_client_error *err)
{
	json_t *value = json_loadb(response->body, response->n_bytes, 0, NULL);

	if (!value)
		return clv_client_fail(err, -EBADMSG, "bad_reply",
			"the agent's answer is not JSON: is this socket an agent's?");

	*ret = value;
	return 0;
}

static int send_once(struct clv_client *client, const struct clv_request *request,
	json_t **ret, struct clv_client_error *err)
{
	struct clv_response response = {};
	int r = clv_transport_request(client->transport, request, &response, err);

	if (r < 0)
		return r;
	if (response.status < 200 || response.status > 299)
		r = clv_client_fail_problem(err, response.status, response.body);
	else if (ret)
		r = parse_body(&response, ret, err);
	free(response.body);
	return r;
}

/* Makes the idempotency key of a POST, so that the request may be sent again if the agent
 * died before it answered; "" for other methods. */
static void make_key(const char *method, char ret[KEY_MAX])
{
	uint64_t random[2];

	ret[0] = '\0';
	if (strcmp(method, "POST") == 0 &&
		getrandom(random, sizeof(random), 0) == sizeof(random))
		snprintf(ret, KEY_MAX, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

/* An agent that ends answers nothing more, or that it is unavailable. */
static bool may_send_again(
	const struct clv_request *request, int r, const struct clv_client_error *err)
{
	bool is_ending = r == -ECONNRESET ||
			 (r == -EAGAIN && err && strcmp(err->code, "unavailable") == 0);

	if (r == -ECONNREFUSED)
		return true; /* it was never sent */
	return is_ending && (request->idempotency_key[0] != '\0' ||
				    strcmp(request->method, "GET") == 0);
}

int clv_call(struct clv_client *client, const struct clv_call *call, json_t **ret,
	struct clv_client_error *err)
{
	char idempotency_key[KEY_MAX];
	_cleanup_free_ char *dumped =
		call->body ? json_dumps(call->body, JSON_COMPACT) : NULL;
	struct clv_request request = {
		.method = call->method,
		.path = call->url.text,
		.body = call->body ? dumped : call->text,
		.n_bytes = call->body && dumped ? strlen(dumped) : call->n_bytes,
		.content_type = call->text ? "application/yaml" : "application/json",
		.idempotency_key = idempotency_key,
		.timeout_ms = (call->timeout_ms ? call->timeout_ms : CALL_TIMEOUT_MS) +
			      call->wait_ms,
	};
	int r = clv_url_check(&call->url, err);

	assert(call->method && call->url.text[0] == '/');
	assert(!(call->body && call->text));
	if (r < 0)
		return r;
	if (call->body && !dumped)
		return clv_client_fail(err, -EINVAL, "bad_request",
			"the request holds text that is not UTF-8");

	make_key(call->method, idempotency_key);
	r = send_once(client, &request, ret, err);
	if (!may_send_again(&request, r, err) || !client->is_ready ||
		!client->may_start || call->no_resend)
		return r;
	r = client->reconnect(client, err);
	return r < 0 ? r : send_once(client, &request, ret, err);
}

int clv_call_get(struct clv_client *client, const char *path, uint32_t wait_ms,
	json_t **ret, struct clv_client_error *err)
{
	struct clv_call call = {.method = "GET", .wait_ms = wait_ms};

	clv_url_path(&call.url, path);
	return clv_call(client, &call, ret, err);
}

void clv_call_set_text(json_t *object, const char *key, const char *text)
{
	if (text)
		json_object_set_new(object, key, json_string(text));
}

void clv_call_set_fraction(json_t *object, const char *key, uint32_t ppm)
{
	if (ppm)
		json_object_set_new(object, key, json_real(ppm / PPM));
}

void clv_call_set_share(json_t *object, uint32_t ppm, uint32_t most_ppm)
{
	if (most_ppm)
		json_object_set_new(object, "share_range",
			json_pack(
				"{s:f,s:f}", "least", ppm / PPM, "most", most_ppm / PPM));
	else
		clv_call_set_fraction(object, "share", ppm);
}

void clv_call_set_number(json_t *object, const char *key, uint64_t number)
{
	if (number)
		json_object_set_new(object, key, json_integer((json_int_t)number));
}

void clv_call_set_flag(json_t *object, const char *key, bool flag)
{
	if (flag)
		json_object_set_new(object, key, json_true());
}
