/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the API share: the handlers, and reading of common parameters. */
#pragma once

#include "agent/api/object/route.h"
#include "agent/http/http.h"

/* The handlers of the routes, a file for each kind of object.  They set the request's
 * answer and status. 0, -EINPROGRESS after clv_request_wait(), or an error. */
#define CLV_HANDLER(name) \
	int name(struct clv_request *request, const char *argument, struct clv_error *err)

CLV_HANDLER(clv_api_get_audit);
CLV_HANDLER(clv_api_post_backup);
CLV_HANDLER(clv_api_post_reload);
CLV_HANDLER(clv_api_get_devices);
CLV_HANDLER(clv_api_post_close);
CLV_HANDLER(clv_api_post_cordon);
CLV_HANDLER(clv_api_post_drain);
CLV_HANDLER(clv_api_post_uncordon);
CLV_HANDLER(clv_api_get_events);
CLV_HANDLER(clv_api_stream_events);
CLV_HANDLER(clv_api_get_advice);
CLV_HANDLER(clv_api_get_history);
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
CLV_HANDLER(clv_api_post_placements);
CLV_HANDLER(clv_api_get_action);
CLV_HANDLER(clv_api_post_action);
CLV_HANDLER(clv_api_get_projects);
CLV_HANDLER(clv_api_put_project);
CLV_HANDLER(clv_api_get_openapi);
CLV_HANDLER(clv_api_get_tenants);
CLV_HANDLER(clv_api_get_tokens);
CLV_HANDLER(clv_api_post_token);
CLV_HANDLER(clv_api_delete_token);
CLV_HANDLER(clv_api_whoami);

/* Reads the parameter wait_ms; 0 without one. */
int clv_api_get_wait(
	struct clv_request *request, uint64_t *ret_ms, struct clv_error *err);

/* An action of a publisher, as an object; the caller owns it. */
struct clv_action;
json_t *clv_api_show_action(const struct clv_action *action);

/* The parameters of a list: at most `limit` items, of those behind `after`.  `limit`
 * is at most the maximum of a page, because other requests wait meanwhile. */
struct clv_page {
	uint64_t after;
	uint64_t limit;
};
int clv_api_get_page(struct clv_request *request, uint64_t most, struct clv_page *ret,
	struct clv_error *err);

/* Makes {"items": [...], "next": CURSOR or null}; takes items. next: 0 if no items are
 * left. */
json_t *clv_api_list(json_t *items, uint64_t next);
