/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the path and the query of a request. */
#include "client/url.h"

#include "client/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("-._~", c));
}

static void append(struct clv_url *url, const char *text, size_t n_bytes)
{
	if (url->n + n_bytes >= sizeof(url->text)) {
		url->n_lost += n_bytes;
		return;
	}
	memcpy(url->text + url->n, text, n_bytes);
	url->n += n_bytes;
}

void clv_url_path(struct clv_url *url, const char *path)
{
	append(url, path, strlen(path));
}

void clv_url_segment(struct clv_url *url, const char *text)
{
	for (; *text; text++) {
		char code[4];

		if (is_unreserved(*text)) {
			append(url, text, 1);
			continue;
		}
		snprintf(code, sizeof(code), "%%%02X", (unsigned char)*text);
		append(url, code, 3);
	}
}

void clv_url_query(struct clv_url *url, const char *key, const char *text)
{
	if (!text)
		return;
	append(url, url->n_queries++ ? "&" : "?", 1);
	clv_url_path(url, key);
	append(url, "=", 1);
	clv_url_segment(url, text);
}

void clv_url_query_number(struct clv_url *url, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	clv_url_query(url, key, text);
}

int clv_url_check(const struct clv_url *url, struct clv_client_error *err)
{
	if (url->n_lost == 0)
		return 0;

	return clv_client_fail(err, -ENAMETOOLONG, "bad_request",
		"the request for %.40s... is too long: use a shorter name", url->text);
}
