/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/user/subids.h"

#include <stdio.h>
#include <string.h>

/* NAME:FIRST:COUNT */
static bool has_uid(const char *line, uid_t uid, size_t *ret_name_bytes)
{
	unsigned long long first, count;
	size_t n = strcspn(line, ":\n");

	*ret_name_bytes = n;
	return n > 0 && line[n] == ':' &&
	       sscanf(line + n + 1, "%10llu:%10llu", &first, &count) == 2 &&
	       uid >= first && uid - first < count;
}

bool clv_subids_find(const char *text, uid_t uid, char *ret, size_t ret_bytes)
{
	size_t n;

	for (const char *line = text; *line != '\0'; line += line[0] == '\n') {
		if (has_uid(line, uid, &n) && n < ret_bytes) {
			memcpy(ret, line, n);
			ret[n] = '\0';
			return true;
		}
		line += strcspn(line, "\n");
	}
	return false;
}
