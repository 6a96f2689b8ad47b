/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_client_error;

/* Fills *err (which may be NULL) and returns error, a negative errno. */
int clv_client_fail(struct clv_client_error *err, int error, const char *code,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Fills *err from a problem document (RFC 9457), or from the HTTP status if the body is
 * not one.  Returns the negative errno for the problem's code. */
int clv_client_fail_problem(
	struct clv_client_error *err, long http_status, const char *body);
