/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_error;
struct clv_request;

/* The audit: every change that was asked for, by whom, from where, and what came of it.
 * It is in the state file before the answer is sent; where that cannot be written it is
 * in the log alone.  object: what it is about, unless the handler said.  err: NULL when
 * it was done. */
void clv_audit_note(const struct clv_request *request, const char *action,
	const char *object, const struct clv_error *err);
