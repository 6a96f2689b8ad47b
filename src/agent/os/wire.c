/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-encoding, routes, bearer tokens and idempotency keys of HTTP requests. */
#include "agent/os/wire.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BEARER "Bearer "

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

size_t clv_wire_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; from++) {
		int high = *from == '%' ? digit(from[1]) : -1;
		int low = high >= 0 ? digit(from[2]) : -1;

		*to = *from;
		if (low >= 0 && high + low > 0) {
			*to = (char)(high * 16 + low);
			from += 2;
		}
		to++;
	}
	*to = '\0';
	return (size_t)(to - text);
}

bool clv_wire_match(
	const char *route, const char *path, char *argument, size_t argument_bytes)
{
	argument[0] = '\0';
	while (*route != '\0' && *path != '\0') {
		size_t n_route = strcspn(route + 1, "/") + 1;
		size_t n_path = strcspn(path + 1, "/") + 1;

		if (*path != '/')
			return false;
		if (route[1] == '{') {
			if (n_path < 2 || n_path > argument_bytes)
				return false;
			snprintf(argument, argument_bytes, "%.*s", (int)n_path - 1,
				path + 1);
		} else if (n_route != n_path || memcmp(route, path, n_path) != 0) {
			return false;
		}
		route += n_route;
		path += n_path;
	}
	return *route == '\0' && *path == '\0';
}

bool clv_wire_split_bearer(
	const char *header, char *id, size_t id_bytes, const char **ret_secret)
{
	static const char prefix[] = CLV_TOKEN_PREFIX;
	const char *text, *under;

	if (strncasecmp(header, BEARER, sizeof(BEARER) - 1) != 0)
		return false;
	text = header + strlen(BEARER);
	text += strspn(text, " ");
	if (strncmp(text, prefix, sizeof(prefix) - 1) != 0)
		return false;
	text += sizeof(prefix) - 1;
	under = strchr(text, '_');
	if (!under || under == text || (size_t)(under - text) >= id_bytes)
		return false;
	snprintf(id, id_bytes, "%.*s", (int)(under - text), text);
	*ret_secret = under + 1;
	return true;
}

bool clv_wire_is_key(const char *key, size_t room)
{
	size_t n = strlen(key);

	for (const char *p = key; *p; p++) {
		if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f)
			return false;
	}
	return n > 0 && n < room;
}
