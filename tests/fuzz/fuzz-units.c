/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, fractions and durations as people write them. */
#include "fuzz.h"

#include "base/error.h"
#include "base/units.h"

/* The parser rejects more than eighteen digits; with a unit the value may be larger. */
#define MOST_DIGITS UINT64_C(999999999999999999)

static void check_bytes(const char *text)
{
	uint64_t bytes = UINT64_MAX, again = 0;
	struct clv_error err = {0};
	char shown[32];

	if (clv_units_parse_bytes(text, &bytes, &err) < 0) {
		CLV_MUST(bytes == UINT64_MAX && err.msg[0]);
		return;
	}
	CLV_MUST(bytes > 0);
	clv_units_format_bytes(bytes, shown);
	CLV_MUST(memchr(shown, '\0', sizeof(shown)));
	if (bytes > MOST_DIGITS)
		return;
	snprintf(shown, sizeof(shown), "%llu", (unsigned long long)bytes);
	CLV_MUST(clv_units_parse_bytes(shown, &again, NULL) == 0 && again == bytes);
}

static void check_fraction(const char *text)
{
	uint32_t ppm = UINT32_MAX, again = 0;
	struct clv_error err = {0};
	char shown[16];

	if (clv_units_parse_fraction(text, &ppm, &err) < 0) {
		CLV_MUST(ppm == UINT32_MAX && err.msg[0]);
		return;
	}
	CLV_MUST(ppm > 0 && ppm <= CLV_PPM);
	clv_units_format_fraction(ppm, shown);
	CLV_MUST(clv_units_parse_fraction(shown, &again, NULL) == 0 && again == ppm);
}

static void check_duration(const char *text)
{
	uint64_t ns = UINT64_MAX;
	struct clv_error err = {0};

	if (clv_units_parse_duration(text, &ns, &err) < 0)
		CLV_MUST(ns == UINT64_MAX && err.msg[0]);
	else
		CLV_MUST(ns > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	char *text = clv_fuzz_text(data, n_bytes);

	check_bytes(text);
	check_fraction(text);
	check_duration(text);
	free(text);
	return 0;
}
