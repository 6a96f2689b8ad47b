/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes of the API (docs/api.md), their dispatch, and handlers that need no
 * file of their own. */
#include "agent/api/routes.h"

#include "agent/api/audit.h"
#include "agent/api/console/api-page.h"
#include "agent/api/handler/api.h"
#include "agent/api/idempotency.h"
#include "agent/api/show/metrics.h"
#include "agent/api/show/readiness.h"
#include "agent/api/show/redact.h"
#include "agent/http/problem.h"
#include "agent/os/wire.h"
#include "agent/record/agent.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int get_health(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	request->status = 200;
	return 0;
}

static int get_ready(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	struct clv_readiness readiness = clv_readiness(request->agent);
	bool is_ready = clv_readiness_is_whole(&readiness);

	request->status = is_ready ? 200 : 503;
	request->answer = json_pack("{s:b,s:b,s:b,s:s?,s:s?}", "ready", is_ready, "state",
		readiness.state, "devices", readiness.devices, "code",
		is_ready ? NULL : clv_problem_code(-CLV_E_UNAVAILABLE), "detail",
		readiness.why_not);
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

static bool wants_open_metrics(const struct clv_request *request)
{
	const char *accept = clv_request_header(request, "Accept");

	return accept && strstr(accept, "application/openmetrics-text");
}

static int get_metrics(
	struct clv_request *request, const char *argument, struct clv_error *err)
{
	bool is_open = wants_open_metrics(request);

	request->status = 200;
	request->text = clv_metrics_to_text(request->agent, is_open, &request->n_bytes);
	request->content_type =
		is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
			: "text/plain; version=0.0.4; charset=utf-8";
	return request->text ? 0 : clv_error_errno(err, ENOMEM, "cannot show metrics");
}

/* clang-format off */
static const struct clv_route routes[] = {
	{"GET", "/healthz", get_health, CLV_MAY_ALL, NULL,
		"whether the agent answers", NULL, NULL, NULL, 200},
	{"GET", "/readyz", get_ready, CLV_MAY_ALL, NULL,
		"whether the agent can grant leases", NULL, NULL, "Readiness", 200},
	{"GET", "/metrics", get_metrics, CLV_MAY_LOOK, NULL,
		"metrics, for Prometheus", NULL, NULL, "text/plain", 200},
	{"GET", "/openapi.json", clv_api_get_openapi, CLV_MAY_ALL, NULL,
		"this API, as OpenAPI describes it", NULL, NULL, "object", 200},
	{"GET", "/console/nodes.json", clv_api_get_nodes, CLV_MAY_KNOWN, NULL,
		"agents of other machines, for the console", NULL, NULL, "[NodeAddress]",
		200},
	{"GET", "/v1/version", get_version, CLV_MAY_KNOWN, NULL,
		"the agent's version", NULL, NULL, "Version", 200},
	{"GET", "/v1/whoami", clv_api_whoami, CLV_MAY_KNOWN, NULL,
		"the caller's identity", NULL, NULL, "Caller", 200},
	{"GET", "/v1/devices", clv_api_get_devices, CLV_MAY_KNOWN, NULL,
		"devices and partitions with what is promised and used on them",
		NULL, NULL, "DeviceList", 200},
	{"POST", "/v1/devices/{device}/close", clv_api_post_close, CLV_MAY_ADMIN,
		"device.close", "close a device, so that another driver can take it", NULL,
		NULL, NULL, 204},
	{"POST", "/v1/devices/{device}/cordon", clv_api_post_cordon, CLV_MAY_ADMIN,
		"device.cordon", "let no new lease onto a device", NULL, "Reason",
		"Device", 200},
	{"POST", "/v1/devices/{device}/drain", clv_api_post_drain, CLV_MAY_ADMIN,
		"device.drain", "cordon a device, and with force end its leases", "force", "Reason",
		"Device", 202},
	{"POST", "/v1/devices/{device}/uncordon", clv_api_post_uncordon, CLV_MAY_ADMIN,
		"device.uncordon", "let leases onto a device again", NULL, "Reason",
		"Device", 200},
	{"GET", "/v1/leases", clv_api_get_leases, CLV_MAY_KNOWN, NULL,
		"leases, oldest first", "tenant device state since limit after", NULL,
		"LeaseList", 200},
	{"POST", "/v1/leases", clv_api_post_lease, CLV_MAY_CHANGE, "lease.create",
		"a new lease for the calling process", NULL, "LeaseRequest", "Lease", 201},
	{"GET", "/v1/leases/{lease}", clv_api_get_lease, CLV_MAY_KNOWN, NULL,
		"one lease, by id or name", "wait_ms while", NULL, "Lease", 200},
	{"PATCH", "/v1/leases/{lease}", clv_api_patch_lease, CLV_MAY_CHANGE,
		"lease.resize", "change a lease as it runs", NULL, "LeaseChange", "Lease",
		200},
	{"POST", "/v1/leases/{lease}/holders", clv_api_post_holder, CLV_MAY_CHANGE,
		"lease.join", "add a holder to a lease",
		NULL, "HolderRequest", "Lease", 200},
	{"DELETE", "/v1/leases/{lease}", clv_api_delete_lease, CLV_MAY_CHANGE,
		"lease.release", "end a lease", "force", NULL, NULL, 204},
	{"POST", "/v1/placements", clv_api_post_placements, CLV_MAY_CHANGE, NULL,
		"where leases would go, one after the other; nothing is changed", NULL,
		"PlacementsRequest", "[Placement]", 200},
	{"GET", "/v1/events", clv_api_get_events, CLV_MAY_KNOWN, NULL,
		"events after one", "after limit wait_ms", NULL, "[Event]", 200},
	{"GET", "/v1/events/stream", clv_api_stream_events, CLV_MAY_KNOWN, NULL,
		"events as they happen (text/event-stream)", "after", NULL, "text", 200},
	{"GET", "/v1/history", clv_api_get_history, CLV_MAY_KNOWN, NULL,
		"what was used, second by second or minute by minute",
		"of=series! resolution from to", NULL, "History", 200},
	{"GET", "/v1/advice", clv_api_get_advice, CLV_MAY_KNOWN, NULL,
		"advice on the size of leases, by their history",
		"lease limit after", NULL, "[Advice]", 200},
	{"GET", "/v1/node", clv_api_get_node, CLV_MAY_KNOWN, NULL,
		"the node: how devices can be divided and are", NULL, NULL, "Node", 200},
	{"POST", "/v1/plan", clv_api_post_plan, CLV_MAY_KNOWN, NULL,
		"what a layout would change", "name", "text", "Plan", 200},
	{"POST", "/v1/apply", clv_api_post_apply, CLV_MAY_ADMIN, "layout.apply",
		"apply a layout", "name on_busy only", "text", "Operation", 202},
	{"GET", "/v1/layout", clv_api_get_layout, CLV_MAY_KNOWN, NULL,
		"the node as a layout, or the kept layout", "of", NULL, "Layout",
		200},
	{"PUT", "/v1/layout", clv_api_put_layout, CLV_MAY_ADMIN, "layout.apply",
		"apply a layout, if the node is as it was read", "name on_busy only",
		"text", "Operation", 202},
	{"GET", "/v1/shares", clv_api_get_shares, CLV_MAY_KNOWN, NULL,
		"standing shares, and the leases that are in them", NULL, NULL,
		"[StandingShare]", 200},
	{"GET", "/v1/profiles", clv_api_get_profiles, CLV_MAY_KNOWN, NULL,
		"what devices can be divided into", "device", NULL, "[Profile]", 200},
	{"POST", "/v1/partitions", clv_api_post_partition, CLV_MAY_ADMIN,
		"partition.create", "create partitions", "dry_run", "PartitionRequest",
		"Operation", 202},
	{"DELETE", "/v1/partitions", clv_api_delete_partition, CLV_MAY_ADMIN,
		"partition.destroy", "destroy a partition", "name!", NULL, "Operation", 202},
	{"GET", "/v1/operations", clv_api_get_operations, CLV_MAY_KNOWN, NULL,
		"operations, oldest first", NULL, NULL, "[Operation]", 200},
	{"GET", "/v1/operations/{operation}", clv_api_get_operation, CLV_MAY_KNOWN, NULL,
		"one operation", "wait_ms after", NULL, "Operation", 200},
	{"DELETE", "/v1/operations/{operation}", clv_api_delete_operation, CLV_MAY_ADMIN,
		"operation.cancel", "cancel an operation that waits", NULL, NULL, "Operation", 200},
	{"GET", "/v1/projects", clv_api_get_projects, CLV_MAY_KNOWN, NULL,
		"projects of services, as their supervisors publish them", "limit after",
		NULL, "[Project]", 200},
	{"PUT", "/v1/projects/{project}", clv_api_put_project, CLV_MAY_CHANGE, NULL,
		"publish a project, while the calling process lives, and take actions",
		"wait_ms=action", "ProjectReport", "[Action]", 200},
	{"POST", "/v1/projects/{project}/actions", clv_api_post_action, CLV_MAY_CHANGE,
		"project.act", "ask the supervisor of a project for an action", "tenant=owner",
		"ActionRequest", "Action", 202},
	{"GET", "/v1/actions/{action}", clv_api_get_action, CLV_MAY_CHANGE, NULL,
		"one action, until at most ten minutes after its end", "wait_ms=end", NULL, "Action", 200},
	{"GET", "/v1/tenants", clv_api_get_tenants, CLV_MAY_KNOWN, NULL,
		"tenants, with their use and their allowances", NULL, NULL, "[Tenant]", 200},
	{"GET", "/v1/tokens", clv_api_get_tokens, CLV_MAY_ADMIN, NULL,
		"tokens, without their secrets", NULL, NULL, "[Token]", 200},
	{"POST", "/v1/tokens", clv_api_post_token, CLV_MAY_ADMIN, "token.create",
		"a new token; its secret is in this answer and nowhere else", NULL,
		"TokenRequest", "NewToken", 201},
	{"DELETE", "/v1/tokens/{token}", clv_api_delete_token, CLV_MAY_ADMIN,
		"token.delete", "delete a token", NULL, NULL, NULL, 204},
	{"POST", "/v1/backup", clv_api_post_backup, CLV_MAY_ADMIN, "state.backup",
		"back up the state into a file in its folder", NULL, NULL, "Backup", 201},
	{"POST", "/v1/reload", clv_api_post_reload, CLV_MAY_ADMIN, "settings.reload",
		"read the settings and the certificate again", NULL, NULL, NULL, 204},
	{"GET", "/v1/audit", clv_api_get_audit, CLV_MAY_LOOK, NULL,
		"who changed what, and from where", "after limit", NULL, "[AuditEvent]",
		200},
};
/* clang-format on */

const struct clv_route_table clv_api_routes = {routes, CLV_ARRAY_SIZE(routes)};

static const struct clv_route *find(const struct clv_request *request, char *argument,
	size_t argument_bytes, bool *ret_is_known)
{
	/* HEAD is GET; the server leaves out the body. */
	const char *method =
		strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;

	*ret_is_known = false;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(routes); i++) {
		if (!clv_wire_match(
			    routes[i].path, request->path, argument, argument_bytes))
			continue;
		if (strcmp(routes[i].method, method) == 0)
			return &routes[i];
		*ret_is_known = true;
	}
	return NULL;
}

/* A browser's CORS preflight has no token.  Its answer needs only the headers that every
 * answer has. */
static bool is_preflight(const struct clv_request *request)
{
	return strcmp(request->method, "OPTIONS") == 0;
}

static bool is_public(const struct clv_request *request)
{
	char argument[CLV_ARGUMENT_MAX];
	bool is_known;
	const struct clv_route *route =
		find(request, argument, sizeof(argument), &is_known);

	if (is_preflight(request))
		return true;
	return route ? route->who == CLV_MAY_ALL : clv_api_is_page(request->path);
}

static int check_scope(const struct clv_request *request, const struct clv_route *route,
	struct clv_error *err)
{
	const char *other = request->caller.token[0] ? "another token" : "sudo";

	if (route->who == CLV_MAY_ALL || route->who & CLV_MAY(request->caller.scope))
		return 0;
	if (route->who == CLV_MAY_ADMIN)
		return clv_error_set(err, -EPERM,
			"only root, or an admin by this node's settings, may use %s %s "
			"(%s): use %s",
			route->method, route->path, route->about, other);
	return clv_error_set(err, -EPERM, "a %s may not use %s %s (%s): use %s",
		clv_scope_to_string(request->caller.scope), route->method, route->path,
		route->about, other);
}

/* Sets the header Allow: the methods of the path. */
static void set_allow(struct clv_request *request)
{
	char argument[CLV_ARGUMENT_MAX], allowed[64] = "";
	size_t used = 0;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(routes); i++) {
		if (clv_wire_match(
			    routes[i].path, request->path, argument, sizeof(argument)) &&
			used < sizeof(allowed))
			used += (size_t)snprintf(allowed + used, sizeof(allowed) - used,
				"%s%s", used ? ", " : "", routes[i].method);
	}
	clv_request_set_header(request, "Allow", "%s", allowed);
}

static int fail_without_route(
	struct clv_request *request, bool is_known, struct clv_error *err)
{
	if (is_known)
		set_allow(request);
	if (is_known)
		return clv_error_set(err, -CLV_E_METHOD,
			"this path does not support %.16s: see docs/api.md",
			request->method);
	return clv_error_set(
		err, -ENOSYS, "the API has no such path: /openapi.json lists the paths");
}

struct reading {
	const char *known; /* a route's parameters */
	uint32_t seen;     /* of these, by position */
	bool is_known;     /* the one that was read last */
};

/* Whether a parameter is unknown, comes again or has no value. */
static bool is_faulty(const char *name, const char *value, void *userdata)
{
	struct reading *reading = userdata;
	const char *known = reading->known;

	reading->is_known = false;
	for (uint32_t bit = 1; known && *known != '\0'; bit <<= 1) {
		size_t n_name = strcspn(known, " =!");

		if (strlen(name) == n_name && memcmp(known, name, n_name) == 0) {
			bool is_again = reading->seen & bit;

			reading->is_known = true;
			reading->seen |= bit;
			return is_again || !value;
		}
		known += strcspn(known, " ");
		known += *known == ' ';
	}
	return true;
}

/* Writes the names of a route's parameters for people. */
static void list_known(const char *query, char *ret, size_t ret_bytes)
{
	size_t used = 0;

	snprintf(ret, ret_bytes, "none");
	while (query && *query != '\0' && used < ret_bytes) {
		used += (size_t)snprintf(ret + used, ret_bytes - used, "%s%.*s",
			used ? ", " : "", (int)strcspn(query, " =!"), query);
		query += strcspn(query, " ");
		query += *query == ' ';
	}
}

static bool is_printable(const char *text)
{
	while (isprint((unsigned char)*text))
		text++;
	return *text == '\0';
}

/* A name that is mistyped, or of two values the one that is not taken, must not change
 * what a request does. */
static int check_query(const struct clv_request *request, const struct clv_route *route,
	struct clv_error *err)
{
	struct reading reading = {.known = route->query};
	const char *name = clv_request_find_argument(request, is_faulty, &reading);
	char known[128];

	if (!name)
		return 0;
	if (reading.is_known)
		return clv_error_set(err, -EINVAL,
			"%s is twice in the query, or has no value: write %s=VALUE, once",
			name, name);
	list_known(route->query, known, sizeof(known));
	return clv_error_set(err, -EINVAL,
		"%s has no parameter '%.60s' in its query: it has %s", route->path,
		is_printable(name) ? name : "?", known);
}

static int run(struct clv_request *request, struct clv_error *err)
{
	char argument[CLV_ARGUMENT_MAX];
	bool is_known;
	const struct clv_route *route =
		find(request, argument, sizeof(argument), &is_known);
	int r;

	request->route = route ? (size_t)(route - routes) : CLV_REQUEST_NO_ROUTE;
	if (is_preflight(request)) {
		request->status = 204;
		return 0;
	}
	if (!route && clv_api_is_page(request->path))
		return clv_api_serve_page(request, err);
	if (!route)
		return fail_without_route(request, is_known, err);
	r = check_scope(request, route, err);
	if (r >= 0 && request->is_too_large)
		r = clv_error_set(err, -EMSGSIZE,
			"the body is over %u bytes: a request needs far less",
			CLV_REQUEST_MAX_BYTES);
	if (r >= 0)
		r = check_query(request, route, err);
	if (r >= 0)
		r = clv_idempotency_begin(request, route, err);
	if (r > 0)
		return 0;
	if (r >= 0)
		r = route->handler(request, argument, err);
	if (r == 0)
		clv_redact_others(request);
	clv_idempotency_end(request, r);
	if (route->action && r != -EINPROGRESS)
		clv_audit_note(request, route->action, argument, r < 0 ? err : NULL);
	return r;
}

static int handle(struct clv_request *request, struct clv_error *err)
{
	uint64_t began_ns = clv_clock_ns();
	int r = run(request, err);

	request->busy_ns += clv_clock_ns() - began_ns;
	return r;
}

static void leave(struct clv_request *request)
{
	char argument[CLV_ARGUMENT_MAX];
	bool is_known;
	const struct clv_route *route =
		find(request, argument, sizeof(argument), &is_known);

	if (route && route->action && request->object[0] != '\0')
		clv_audit_note(request, route->action, argument, NULL);
}

const struct clv_http_handler clv_api_handler = {
	.handle = handle, .leave = leave, .is_public = is_public};
