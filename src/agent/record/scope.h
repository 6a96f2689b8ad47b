/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/* What a caller may do.  A viewer sees the leases of all tenants and changes nothing; a
 * tenant sees and changes only its own; an admin sees and changes all. */
enum clv_scope {
	CLV_SCOPE_VIEWER,
	CLV_SCOPE_TENANT,
	CLV_SCOPE_ADMIN,
	_CLV_SCOPE_MAX,
	_CLV_SCOPE_INVALID = -22, /* -EINVAL */
};

const char *clv_scope_to_string(enum clv_scope scope);
enum clv_scope clv_scope_from_string(const char *text);

/* The uid of a caller that is no user of this machine. */
#define CLV_CALLER_NO_UID ((uid_t)-1)
