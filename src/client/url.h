/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clv_client_error;

#define CLV_URL_MAX 2048

/* The path and the query of a request, built piece by piece.  What comes from people is
 * percent-encoded.  Plain data; zero it to begin. */
struct clv_url {
	char text[CLV_URL_MAX];
	size_t n;
	size_t n_queries;
	size_t n_lost; /* bytes that had no room */
};

/* As it is: "/v1/leases/". */
void clv_url_path(struct clv_url *url, const char *path);

/* One piece of the path. */
void clv_url_segment(struct clv_url *url, const char *text);

/* "?key=text", or with '&' from the second on; a text of NULL: nothing. */
void clv_url_query(struct clv_url *url, const char *key, const char *text);
void clv_url_query_number(struct clv_url *url, const char *key, uint64_t number);

/* -ENAMETOOLONG when something had no room. */
int clv_url_check(const struct clv_url *url, struct clv_client_error *err);
