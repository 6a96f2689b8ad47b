/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies and numbers that the API accepts. The first byte selects the parser. */
#include "fuzz.h"

#include "agent/api/request/request.h"
#include "base/error.h"
#include "base/units.h"

static void check_error(int r, const struct clv_error *err)
{
	CLV_MUST(err->code == r && err->msg[0] != '\0');
	for (const char *p = err->msg; *p; p++)
		CLV_MUST((unsigned char)*p >= ' ');
}

static void check_request(const struct clv_lease_request *request)
{
	CLV_MUST(memchr(request->name, '\0', sizeof(request->name)));
	CLV_MUST(memchr(request->device, '\0', sizeof(request->device)));
	CLV_MUST(memchr(request->command, '\0', sizeof(request->command)));
	for (const char *p = request->command; *p; p++)
		CLV_MUST((unsigned char)*p >= ' ' && *p != 127);
	CLV_MUST(!request->name[0] || clv_lease_check_name(request->name, NULL) == 0);
	CLV_MUST(request->share.compute_ppm <= CLV_PPM);
	CLV_MUST(request->share.cap_ppm <= CLV_PPM);
	CLV_MUST(request->has_share == (request->share.compute_ppm > 0));
	CLV_MUST(request->has_memory == (request->share.memory_bytes > 0));
	CLV_MUST(request->share.class >= 0 && request->share.class < _CLV_CLASS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_lease_request request = {0};
	struct clv_error err = {0};
	uint64_t number = 0;
	char *text;
	int r;

	if (n_bytes == 0)
		return 0;
	switch (data[0]) {
	case 'l':
		r = clv_request_parse_lease(
			(const char *)data + 1, n_bytes - 1, &request, &err);
		break;
	case 'r':
		r = clv_request_parse_resize(
			(const char *)data + 1, n_bytes - 1, &request, &err);
		break;
	case 'n':
		text = clv_fuzz_text(data + 1, n_bytes - 1);
		r = clv_request_parse_number("wait_ms", text, 60000, &number, &err);
		free(text);
		CLV_MUST(number <= 60000);
		break;
	default:
		return 0;
	}
	if (r < 0)
		check_error(r, &err);
	else
		check_request(&request);
	return 0;
}
