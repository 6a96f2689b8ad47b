/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clv_client_error;

#define CLV_URL_MAX 2048

/* The path and the query of a request, built piece by piece.  Segments and values are
 * percent-encoded.  Plain data; zero it to begin. */
struct clv_url {
	char text[CLV_URL_MAX];
	size_t n;
	size_t n_queries;
	size_t n_lost; /* bytes that had no room */
};

/* Appends text as it is, such as "/v1/leases/". */
void clv_url_path(struct clv_url *url, const char *path);

/* Appends one percent-encoded segment of the path. */
void clv_url_segment(struct clv_url *url, const char *text);

/* Appends "?key=text", with '&' from the second one on; nothing if text is NULL. */
void clv_url_query(struct clv_url *url, const char *key, const char *text);
void clv_url_query_number(struct clv_url *url, const char *key, uint64_t number);

/* -ENAMETOOLONG when something had no room. */
int clv_url_check(const struct clv_url *url, struct clv_client_error *err);
