/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/record/lease-record.h"

#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static const char *const admits[_CLV_ADMIT_MAX] = {
	[CLV_ADMIT_HOLDERS] = "holders",
	[CLV_ADMIT_SOCKET] = "socket",
};

const char *clv_admit_to_string(enum clv_admit admit)
{
	return admit >= 0 && admit < _CLV_ADMIT_MAX ? admits[admit] : "none";
}

enum clv_admit clv_admit_from_string(const char *text)
{
	for (int i = 0; i < _CLV_ADMIT_MAX; i++) {
		if (strcmp(admits[i], text) == 0)
			return (enum clv_admit)i;
	}
	return _CLV_ADMIT_INVALID;
}

static bool looks_like_an_id(const char *name)
{
	return strlen(name) == 17 && name[0] == 'l' &&
	       strspn(name + 1, "0123456789abcdef") == 16;
}

int clv_lease_check_name(const char *name, struct clv_error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
				      "YZ0123456789._-";
	size_t length = strlen(name);

	if (length == 0 || length >= CLV_LEASE_NAME_MAX ||
		strspn(name, allowed) != length || !isalnum((unsigned char)name[0]))
		return clv_error_set(err, -EINVAL,
			"a name has 1 to %d letters, digits, dots, dashes or "
			"underscores and starts with a letter or digit",
			CLV_LEASE_NAME_MAX - 1);
	if (looks_like_an_id(name))
		return clv_error_set(err, -EINVAL,
			"the name %s looks like a lease id: choose another", name);
	return 0;
}
