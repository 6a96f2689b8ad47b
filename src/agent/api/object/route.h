/* SPDX-License-Identifier: Apache-2.0 */
/* A row of the table of routes. */
#pragma once

#include "agent/record/scope.h"

#include <stddef.h>
#include <stdint.h>

struct clv_error;
struct clv_request;

/* A handler. argument: the part of the path that is in braces in the route, "" if there
 * is none. */
typedef int (*clv_api_fn)(
	struct clv_request *request, const char *argument, struct clv_error *err);

/* The scopes that a route permits, as bits by enum clv_scope; ALL: also callers without
 * an identity. */
#define CLV_MAY(scope) (1u << (scope))
#define CLV_MAY_ADMIN CLV_MAY(CLV_SCOPE_ADMIN)
#define CLV_MAY_LOOK (CLV_MAY_ADMIN | CLV_MAY(CLV_SCOPE_VIEWER))
#define CLV_MAY_CHANGE (CLV_MAY_ADMIN | CLV_MAY(CLV_SCOPE_TENANT))
#define CLV_MAY_KNOWN (CLV_MAY_LOOK | CLV_MAY_CHANGE)
#define CLV_MAY_ALL UINT32_MAX

/* A row of the table of routes, from which the OpenAPI document is generated too. */
struct clv_route {
	const char *method;
	const char *path; /* "/v1/leases/{lease}" */
	clv_api_fn handler;
	uint32_t who;       /* CLV_MAY_* */
	const char *action; /* its name in the audit; NULL: it changes nothing */
	const char *about;  /* a summary in one line */
	/* Names of parameters in the query, separated by blanks; or NULL.  NAME!: it is
	 * required; NAME=MEANING: a row of the parameters in openapi.c. */
	const char *query;
	const char *body; /* a schema, "text" (YAML), or NULL */
	/* A schema, "[Schema]" for a list, "text" (a stream), a media type, or NULL. */
	const char *result;
	unsigned int status; /* of success */
};

struct clv_route_table {
	const struct clv_route *items;
	size_t n;
};
