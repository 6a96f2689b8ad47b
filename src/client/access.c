/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens, tenants, the audit, and devices that are taken out of
 * service. */
#include "client/call.h"

#include <cleave.h>
#include <jansson.h>

#define AUDIT_PAGE 1000

int clv_client_tokens(
	struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	return clv_call_get(client, "/v1/tokens", 0, ret, err);
}

int clv_client_token_create(struct clv_client *client,
	const struct clv_client_token_request *request, json_t **ret,
	struct clv_client_error *err)
{
	_cleanup_json_ json_t *body = json_object();
	struct clv_call call = {.method = "POST", .body = body};

	clv_url_path(&call.url, "/v1/tokens");
	clv_call_set_text(body, "name", request->name);
	clv_call_set_text(body, "scope", request->scope);
	clv_call_set_text(body, "tenant", request->tenant);
	clv_call_set_number(body, "expires_in", request->expires_in_s);
	return clv_call(client, &call, ret, err);
}

int clv_client_token_delete(
	struct clv_client *client, const char *id, struct clv_client_error *err)
{
	struct clv_call call = {.method = "DELETE"};

	clv_url_path(&call.url, "/v1/tokens/");
	clv_url_segment(&call.url, id);
	return clv_call(client, &call, NULL, err);
}

int clv_client_tenants(
	struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	return clv_call_get(client, "/v1/tenants", 0, ret, err);
}

int clv_client_audit(struct clv_client *client, uint64_t after_id, json_t **ret,
	struct clv_client_error *err)
{
	struct clv_call call = {.method = "GET"};

	clv_url_path(&call.url, "/v1/audit");
	clv_url_query_number(&call.url, "after", after_id);
	clv_url_query_number(&call.url, "limit", AUDIT_PAGE);
	return clv_call(client, &call, ret, err);
}

int clv_client_device_service(struct clv_client *client, const char *device,
	const struct clv_client_service *service, json_t **ret,
	struct clv_client_error *err)
{
	_cleanup_json_ json_t *body = json_object();
	struct clv_call call = {
		.method = "POST", .body = body, .timeout_ms = CLV_CALL_SURVEY_MS};

	clv_url_path(&call.url, "/v1/devices/");
	clv_url_segment(&call.url, device);
	clv_url_path(&call.url, "/");
	clv_url_segment(&call.url, service->action);
	if (service->force)
		clv_url_query(&call.url, "force", "true");
	clv_call_set_text(body, "reason", service->reason);
	return clv_call(client, &call, ret, err);
}

int clv_client_backup(
	struct clv_client *client, json_t **ret, struct clv_client_error *err)
{
	struct clv_call call = {.method = "POST"};

	clv_url_path(&call.url, "/v1/backup");
	return clv_call(client, &call, ret, err);
}

int clv_client_reload(struct clv_client *client, struct clv_client_error *err)
{
	struct clv_call call = {.method = "POST"};

	clv_url_path(&call.url, "/v1/reload");
	return clv_call(client, &call, NULL, err);
}
