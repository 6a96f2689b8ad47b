/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters and answers that several routes have. */
#include "agent/api/handler/api.h"

#include "agent/api/request/request.h"

#define WAIT_MAX_MS 600000u
#define LIMIT_MAX 10000u

int clv_api_get_wait(struct clv_request *request, uint64_t *ret_ms, struct clv_error *err)
{
	const char *text = clv_request_argument(request, "wait_ms");

	*ret_ms = 0;
	if (!text)
		return 0;
	return clv_request_parse_number("wait_ms", text, WAIT_MAX_MS, ret_ms, err);
}

int clv_api_get_page(struct clv_request *request, uint64_t most, struct clv_page *ret,
	struct clv_error *err)
{
	const char *after = clv_request_argument(request, "after");
	const char *limit = clv_request_argument(request, "limit");
	int r = 0;

	*ret = (struct clv_page){.limit = most};
	if (after)
		r = clv_request_parse_number("after", after, INT64_MAX, &ret->after, err);
	if (r >= 0 && limit)
		r = clv_request_parse_limit(limit, LIMIT_MAX, &ret->limit, err);
	if (ret->limit > most)
		ret->limit = most;
	return r;
}

json_t *clv_api_list(json_t *items, uint64_t next)
{
	return json_pack("{s:o,s:o}", "items", items, "next",
		next ? json_integer((json_int_t)next) : json_null());
}
