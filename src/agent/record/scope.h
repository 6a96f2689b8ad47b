/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/* What a caller may do.  Each scope can see what the one before it can, but for this: a
 * viewer sees all leases and changes nothing, a tenant has his own alone. */
enum clv_scope {
	CLV_SCOPE_VIEWER,
	CLV_SCOPE_TENANT,
	CLV_SCOPE_ADMIN,
	_CLV_SCOPE_MAX,
	_CLV_SCOPE_INVALID = -22, /* -EINVAL */
};

const char *clv_scope_to_string(enum clv_scope scope);
enum clv_scope clv_scope_from_string(const char *text);

#define CLV_CALLER_NOBODY ((uid_t)-1)
