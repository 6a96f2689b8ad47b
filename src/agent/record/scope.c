/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/record/scope.h"

#include <string.h>

static const char *const scopes[_CLV_SCOPE_MAX] = {
	[CLV_SCOPE_VIEWER] = "viewer",
	[CLV_SCOPE_TENANT] = "tenant",
	[CLV_SCOPE_ADMIN] = "admin",
};

const char *clv_scope_to_string(enum clv_scope scope)
{
	return scope >= 0 && scope < _CLV_SCOPE_MAX ? scopes[scope] : "none";
}

enum clv_scope clv_scope_from_string(const char *text)
{
	for (int i = 0; i < _CLV_SCOPE_MAX; i++) {
		if (strcmp(scopes[i], text) == 0)
			return (enum clv_scope)i;
	}
	return _CLV_SCOPE_INVALID;
}
