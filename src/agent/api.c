/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes of the API (docs/api.md), and the routes too small for a file of
 * their own. */
#include "agent/api.h"

#include "agent/agent.h"
#include "agent/problem.h"
#include "agent/request.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>

#define WAIT_MAX_MS 600000u

static int get_health(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	request->status = 200;
	return 0;
}

static int get_version(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	char started_at[32];

	clv_clock_format_rfc3339(request->agent->started_real_ns, started_at);
	request->status = 200;
	request->answer = json_pack("{s:s,s:i,s:i,s:s}", "version", CLV_VERSION, "api", 1,
		"pid", (int)getpid(), "started_at", started_at);
	return 0;
}

/* A path that ends in a slash takes one more part as the handler's argument. */
static const struct {
	const char *method;
	const char *path;
	clv_api_fn handler;
} routes[] = {
	{"GET", "/healthz", get_health},
	{"GET", "/v1/version", get_version},
	{"GET", "/v1/devices", clv_api_get_devices},
	{"GET", "/v1/leases", clv_api_get_leases},
	{"POST", "/v1/leases", clv_api_post_lease},
	{"GET", "/v1/leases/", clv_api_get_lease},
	{"PATCH", "/v1/leases/", clv_api_patch_lease},
	{"DELETE", "/v1/leases/", clv_api_delete_lease},
	{"GET", "/v1/events", clv_api_get_events},
	{"GET", "/v1/node", clv_api_get_node},
	{"POST", "/v1/plan", clv_api_post_plan},
	{"POST", "/v1/apply", clv_api_post_apply},
	{"GET", "/v1/layout", clv_api_get_layout},
	{"GET", "/v1/profiles", clv_api_get_profiles},
	{"POST", "/v1/partitions", clv_api_post_partition},
	{"DELETE", "/v1/partitions", clv_api_delete_partition},
	{"GET", "/v1/operations", clv_api_get_operations},
	{"GET", "/v1/operations/", clv_api_get_operation},
	{"DELETE", "/v1/operations/", clv_api_delete_operation},
};

/* The argument ("" for a route without one), or NULL when the path is another one. */
static const char *match(const char *route, const char *path)
{
	size_t length = strlen(route);

	if (route[length - 1] != '/')
		return strcmp(route, path) == 0 ? "" : NULL;
	if (strncmp(route, path, length) != 0 || path[length] == '\0' ||
		strchr(path + length, '/'))
		return NULL;
	return path + length;
}

int clv_api_handle(struct clv_request *request, struct clv_error *err)
{
	bool is_known = false;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(routes); i++) {
		const char *argument = match(routes[i].path, request->path);

		if (!argument)
			continue;
		if (strcmp(routes[i].method, request->method) == 0)
			return routes[i].handler(request, argument, err);
		is_known = true;
	}
	if (is_known)
		return clv_error_set(err, -CLV_E_METHOD,
			"this path does not take %.16s: see docs/api.md",
			request->method);
	return clv_error_set(err, -ENOENT,
		"the API has no such path: /v1/devices, /v1/leases, /v1/events and "
		"/v1/version are there");
}

int clv_api_get_wait(struct clv_request *request, uint64_t *ret_ms, struct clv_error *err)
{
	const char *text = clv_request_argument(request, "wait_ms");

	*ret_ms = 0;
	if (!text)
		return 0;
	return clv_request_parse_number("wait_ms", text, WAIT_MAX_MS, ret_ms, err);
}
