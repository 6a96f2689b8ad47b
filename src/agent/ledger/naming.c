/* SPDX-License-Identifier: Apache-2.0 */
/* Names of new leases. */
#include "agent/ledger/naming.h"

#include "agent/ledger/ledger.h"
#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The part that comes from the command leaves room for "-" and a number. */
#define STEM_MAX (CLV_LEASE_NAME_MAX - 12)

static void make_stem(const char *command, char ret[STEM_MAX])
{
	const char *slash = strrchr(command, '/');
	size_t n = 0;

	for (const char *p = slash ? slash + 1 : command; *p && n < STEM_MAX - 1; p++) {
		bool is_allowed = (unsigned char)*p < 0x80 &&
				  (isalnum((unsigned char)*p) || strchr("._-", *p));

		if (n == 0 && !isalnum((unsigned char)*p))
			continue;
		ret[n++] = is_allowed ? *p : '-';
	}
	ret[n] = '\0';
	if (clv_lease_check_name(ret, NULL) < 0)
		snprintf(ret, STEM_MAX, "lease");
}

int clv_naming_choose(struct clv_ledger *ledger, const struct clv_lease_request *request,
	uid_t uid, char ret[CLV_LEASE_NAME_MAX], struct clv_error *err)
{
	char stem[STEM_MAX];

	if (request->name[0] != '\0') {
		if (clv_ledger_has_name(ledger, uid, request->name))
			return clv_error_set(err, -EEXIST,
				"you have a lease named %s already: choose another name "
				"or release that one",
				request->name);
		memcpy(ret, request->name, CLV_LEASE_NAME_MAX);
		return 0;
	}
	make_stem(request->command, stem);
	snprintf(ret, CLV_LEASE_NAME_MAX, "%s", stem);
	for (unsigned int i = 2; clv_ledger_has_name(ledger, uid, ret); i++)
		snprintf(ret, CLV_LEASE_NAME_MAX, "%s-%u", stem, i);
	return 0;
}
