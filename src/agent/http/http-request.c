/* SPDX-License-Identifier: Apache-2.0 */
/* What handlers read of a request, and the headers that they set. */
#include "agent/http/http.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>

const char *clv_request_argument(const struct clv_request *request, const char *name)
{
	return MHD_lookup_connection_value(
		request->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *clv_request_header(const struct clv_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

struct search {
	bool (*fits)(const char *name, const char *value, void *userdata);
	void *userdata;
	const char *found;
};

static enum MHD_Result check_argument(
	void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct search *search = userdata;

	if (search->fits(name, value, search->userdata))
		search->found = name;
	return search->found ? MHD_NO : MHD_YES;
}

const char *clv_request_find_argument(const struct clv_request *request,
	bool (*fits)(const char *name, const char *value, void *userdata), void *userdata)
{
	struct search search = {.fits = fits, .userdata = userdata};

	MHD_get_connection_values(
		request->connection, MHD_GET_ARGUMENT_KIND, check_argument, &search);
	return search.found;
}

void clv_request_set_header(
	struct clv_request *request, const char *name, const char *format, ...)
{
	va_list args;
	char *value;
	int n;

	if (request->n_headers == CLV_HEADERS_MAX)
		return;
	va_start(args, format);
	n = vasprintf(&value, format, args);
	va_end(args);
	if (n < 0)
		return;
	request->headers[request->n_headers].name = name;
	request->headers[request->n_headers++].value = value;
}
