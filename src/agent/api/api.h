/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/http/http.h"

/* Whether leases can be had.  A state file that cannot be written is not ready. */
bool clv_api_is_ready(const struct clv_agent *agent);

/* Handlers, a file per kind of object.  argument is the part of the path that the route
 * names in braces, "" where it names none. */
typedef int (*clv_api_fn)(
	struct clv_request *request, const char *argument, struct clv_error *err);

/* Who may: bits by enum clv_scope, or all callers, known or not. */
#define CLV_MAY(scope) (1u << (scope))
#define CLV_MAY_ADMIN CLV_MAY(CLV_SCOPE_ADMIN)
#define CLV_MAY_LOOK (CLV_MAY_ADMIN | CLV_MAY(CLV_SCOPE_VIEWER))
#define CLV_MAY_CHANGE (CLV_MAY_ADMIN | CLV_MAY(CLV_SCOPE_TENANT))
#define CLV_MAY_KNOWN (CLV_MAY_LOOK | CLV_MAY_CHANGE)
#define CLV_MAY_ALL UINT32_MAX

/* A row of the table of routes, from which the OpenAPI document is made as well. */
struct clv_route {
	const char *method;
	const char *path; /* "/v1/leases/{lease}" */
	clv_api_fn handler;
	uint32_t who;
	const char *action; /* what the audit calls it; NULL: it changes nothing */
	const char *about;  /* a line */
	const char *query;  /* names of parameters, with blanks between; or NULL */
	const char *body;   /* a schema, "text" (YAML), or NULL */
	/* A schema, "[Schema]" for a list, "text" (a stream), a media type, or NULL. */
	const char *result;
	unsigned int status; /* of success */
};

struct clv_route_table {
	const struct clv_route *items;
	size_t n;
};

#define CLV_HANDLER(name) \
	int name(struct clv_request *request, const char *argument, struct clv_error *err)

CLV_HANDLER(clv_api_get_audit);
CLV_HANDLER(clv_api_post_backup);
CLV_HANDLER(clv_api_get_devices);
CLV_HANDLER(clv_api_post_cordon);
CLV_HANDLER(clv_api_post_drain);
CLV_HANDLER(clv_api_post_uncordon);
CLV_HANDLER(clv_api_get_events);
CLV_HANDLER(clv_api_stream_events);
CLV_HANDLER(clv_api_get_advice);
CLV_HANDLER(clv_api_get_history);
CLV_HANDLER(clv_api_get_metrics);
CLV_HANDLER(clv_api_get_leases);
CLV_HANDLER(clv_api_post_lease);
CLV_HANDLER(clv_api_get_lease);
CLV_HANDLER(clv_api_patch_lease);
CLV_HANDLER(clv_api_post_holder);
CLV_HANDLER(clv_api_delete_lease);
CLV_HANDLER(clv_api_get_node);
CLV_HANDLER(clv_api_post_plan);
CLV_HANDLER(clv_api_post_apply);
CLV_HANDLER(clv_api_put_layout);
CLV_HANDLER(clv_api_post_partition);
CLV_HANDLER(clv_api_delete_partition);
CLV_HANDLER(clv_api_get_operations);
CLV_HANDLER(clv_api_get_operation);
CLV_HANDLER(clv_api_delete_operation);
CLV_HANDLER(clv_api_get_layout);
CLV_HANDLER(clv_api_get_nodes);
CLV_HANDLER(clv_api_get_shares);
CLV_HANDLER(clv_api_get_profiles);
CLV_HANDLER(clv_api_get_openapi);
CLV_HANDLER(clv_api_get_tenants);
CLV_HANDLER(clv_api_get_tokens);
CLV_HANDLER(clv_api_post_token);
CLV_HANDLER(clv_api_delete_token);
CLV_HANDLER(clv_api_whoami);

/* The console's files, which are no part of the API: "/" and what is below "/console". */
bool clv_api_is_page(const char *path);
int clv_api_serve_page(struct clv_request *request, struct clv_error *err);

/* "wait_ms", 0 when it is not given. */
int clv_api_get_wait(
	struct clv_request *request, uint64_t *ret_ms, struct clv_error *err);

/* "limit" and "after" of a list: the first one behind. */
struct clv_page {
	uint64_t after;
	uint64_t limit;
};
int clv_api_get_page(struct clv_request *request, uint64_t default_limit,
	struct clv_page *ret, struct clv_error *err);

/* {"items": [...], "next": CURSOR or null}; takes items.  next 0: there is no more. */
json_t *clv_api_list(json_t *items, uint64_t next);
