/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/http.h"

/* Finds the handler of a request in the table of routes and runs it.  Returns 0 with
 * status and answer set, -EINPROGRESS when it waits, or an error for a problem document.
 */
int clv_api_handle(struct clv_request *request, struct clv_error *err);

/* Handlers, a file per kind of object.  argument is the last part of the path, for routes
 * that have one. */
typedef int (*clv_api_fn)(
	struct clv_request *request, const char *argument, struct clv_error *err);

int clv_api_get_devices(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_get_events(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_get_leases(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_get_lease(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_post_lease(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_patch_lease(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_delete_lease(
	struct clv_request *request, const char *argument, struct clv_error *err);

int clv_api_get_node(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_post_plan(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_post_apply(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_post_partition(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_delete_partition(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_get_operations(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_get_operation(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_delete_operation(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_get_layout(
	struct clv_request *request, const char *argument, struct clv_error *err);
int clv_api_get_profiles(
	struct clv_request *request, const char *argument, struct clv_error *err);

/* "wait_ms", 0 when it is not given. */
int clv_api_get_wait(
	struct clv_request *request, uint64_t *ret_ms, struct clv_error *err);
