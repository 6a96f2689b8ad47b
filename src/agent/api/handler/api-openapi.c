/* SPDX-License-Identifier: Apache-2.0 */
/* The route of the OpenAPI document, which needs no token: so it is generated once and
 * kept. */
#include "agent/api/handler/api.h"
#include "agent/api/object/openapi.h"
#include "agent/os/digest.h"
#include "agent/record/agent.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int clv_api_get_openapi(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	static char *text, tag[CLV_DIGEST_MAX + 2];
	const char *known = clv_request_header(request, "If-None-Match");
	char digest[CLV_DIGEST_MAX];
	json_t *json;

	if (!text) {
		json = clv_openapi_to_json(request->agent->routes);
		text = json_dumps(json, JSON_COMPACT);
		json_decref(json);
		if (!text)
			return clv_error_errno(err, ENOMEM, "cannot show the API");
		clv_digest(text, strlen(text), digest);
		snprintf(tag, sizeof(tag), "\"%s\"", digest);
	}
	clv_request_set_header(request, "ETag", "%s", tag);
	request->status = known && strcmp(known, tag) == 0 ? 304 : 200;
	if (request->status == 304)
		return 0;
	request->file = text;
	request->n_bytes = strlen(text);
	request->content_type = "application/json";
	return 0;
}
