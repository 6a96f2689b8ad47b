/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct clv_buckets;
struct clv_error;
struct clv_request;

/* Records an attempted change in the audit: caller, origin, action and result.  The
 * record is in the state file before the answer is sent, or only in the log if the state
 * file cannot be written. object: the affected object, unless the handler has set it in
 * the request. err: NULL on success.  Of refused attempts a caller has a few written, and
 * then one from time to time that says how many are missing; of changes a tenant, too. */
void clv_audit_note(const struct clv_request *request, const char *action,
	const char *object, const struct clv_error *err);

/* The limits of refused attempts, and of tenants' changes, in the audit and the log;
 * NULL: out of memory. */
struct clv_buckets *clv_audit_new_refusals(void);
struct clv_buckets *clv_audit_new_tenant_changes(void);
