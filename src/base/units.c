/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, fractions and durations as users write them.  strtod() is not used: it depends
 * on the locale and accepts "nan", "inf" and hexadecimal floats. */
#include "base/units.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *suffix;
	uint64_t factor;
};

static const struct unit byte_units[] = {
	/* clang-format off */
	{ "",    1 },
	{ "B",   1 },
	{ "K",   UINT64_C(1) << 10 }, { "Ki",  UINT64_C(1) << 10 }, { "KiB", UINT64_C(1) << 10 },
	{ "M",   UINT64_C(1) << 20 }, { "Mi",  UINT64_C(1) << 20 }, { "MiB", UINT64_C(1) << 20 },
	{ "G",   UINT64_C(1) << 30 }, { "Gi",  UINT64_C(1) << 30 }, { "GiB", UINT64_C(1) << 30 },
	{ "T",   UINT64_C(1) << 40 }, { "Ti",  UINT64_C(1) << 40 }, { "TiB", UINT64_C(1) << 40 },
	{ "KB",  UINT64_C(1000) },
	{ "MB",  UINT64_C(1000000) },
	{ "GB",  UINT64_C(1000000000) },
	{ "TB",  UINT64_C(1000000000000) },
	/* clang-format on */
};

static const struct unit duration_units[] = {
	/* clang-format off */
	{ "",   CLV_NS_PER_S },
	{ "us", CLV_NS_PER_US },
	{ "ms", CLV_NS_PER_MS },
	{ "s",  CLV_NS_PER_S },
	{ "m",  CLV_NS_PER_S * 60 },
	{ "h",  CLV_NS_PER_S * 3600 },
	{ "d",  CLV_NS_PER_S * 86400 },
	/* clang-format on */
};

/* A decimal number as digits / 10^decimals, exact. */
struct decimal {
	uint64_t digits;
	unsigned int decimals;
	const char *end;
};

#define MAX_DIGITS UINT64_C(100000000000000000)

static bool read_decimal(const char *text, struct decimal *ret)
{
	struct decimal d = {.end = text};
	bool point = false, any = false;

	for (;; d.end++) {
		if (*d.end == '.' && !point) {
			point = true;
			continue;
		}
		if (*d.end < '0' || *d.end > '9')
			break;
		any = true;
		/* Further decimals are below the resolution of every unit and are
		 * dropped, so that 10^decimals fits 64 bits. */
		if (point && (d.decimals == 18 || d.digits > MAX_DIGITS))
			continue;
		if (d.digits > MAX_DIGITS)
			return false;
		d.digits = d.digits * 10 + (uint64_t)(*d.end - '0');
		d.decimals += point;
	}
	if (!any)
		return false;

	*ret = d;
	return true;
}

/* digits * factor / 10^decimals, rounded to the nearest; false if over 2^63. */
static bool scale_decimal(const struct decimal *d, uint64_t factor, uint64_t *ret)
{
	unsigned __int128 value = (unsigned __int128)d->digits * factor;
	uint64_t divisor = 1;

	for (unsigned int i = 0; i < d->decimals; i++)
		divisor *= 10;
	value = (value + divisor / 2) / divisor;
	if (value > INT64_MAX)
		return false;

	*ret = (uint64_t)value;
	return true;
}

static const struct unit *find_unit(
	const struct unit *units, size_t n_units, const char *suffix)
{
	for (size_t i = 0; i < n_units; i++) {
		if (strcasecmp(units[i].suffix, suffix) == 0)
			return &units[i];
	}
	return NULL;
}

int clv_units_parse_bytes(const char *text, uint64_t *ret_bytes, struct clv_error *err)
{
	const struct unit *unit;
	struct decimal d;
	uint64_t bytes;

	if (!read_decimal(text, &d))
		return clv_error_set(err, -EINVAL,
			"'%.40s' is not a size: write a positive number with a unit, "
			"as 512M or 1.5GiB",
			text);
	unit = find_unit(byte_units, CLV_ARRAY_SIZE(byte_units), d.end);
	if (!unit)
		return clv_error_set(err, -EINVAL,
			"'%.40s' has no unit that cleave knows: use K, M, G, T "
			"(binary) or KB, MB, GB, TB (decimal)",
			text);
	if (!scale_decimal(&d, unit->factor, &bytes) || bytes == 0)
		return clv_error_set(err, -ERANGE,
			"'%.40s' is not a size of memory: it must be at least 1 byte "
			"and below 8 EiB",
			text);

	*ret_bytes = bytes;
	return 0;
}

static int fraction_range_error(const char *text, struct clv_error *err)
{
	return clv_error_set(err, -ERANGE,
		"'%.40s' is out of range: a share is more than 0 and at most 1, as "
		"0.3, 30%% or 6/20",
		text);
}

/* Reads the "/20" of "6/20"; d holds the 6. */
static bool read_ratio(const struct decimal *d, uint64_t *ret_ppm)
{
	unsigned __int128 value;
	struct decimal below;

	if (d->decimals > 0 || !read_decimal(d->end + 1, &below) || below.decimals > 0)
		return false;
	if (*below.end != '\0' || below.digits == 0)
		return false;

	value = (unsigned __int128)d->digits * CLV_PPM / below.digits;
	*ret_ppm = value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
	return true;
}

int clv_units_parse_fraction(const char *text, uint32_t *ret_ppm, struct clv_error *err)
{
	struct decimal d;
	uint64_t ppm = 0;
	bool good = false;

	if (text[0] == '-')
		return fraction_range_error(text, err);
	if (read_decimal(text, &d)) {
		if (*d.end == '/')
			good = read_ratio(&d, &ppm);
		else if (*d.end == '\0')
			good = scale_decimal(&d, CLV_PPM, &ppm);
		else if (strcmp(d.end, "%") == 0)
			good = scale_decimal(&d, CLV_PPM / 100, &ppm);
	}
	if (!good)
		return clv_error_set(err, -EINVAL,
			"'%.40s' is not a share: write a number above 0 and at most "
			"1, as 0.3, 30%% or 6/20",
			text);
	if (ppm == 0 || ppm > CLV_PPM)
		return fraction_range_error(text, err);

	*ret_ppm = (uint32_t)ppm;
	return 0;
}

static int fail_range(const char *text, struct clv_error *err)
{
	return clv_error_set(err, -EINVAL,
		"'%.40s' is not a range of shares: write a lower and an upper bound, "
		"as 0.1..0.6",
		text);
}

int clv_units_parse_range(const char *text, uint32_t *ret_least_ppm,
	uint32_t *ret_most_ppm, struct clv_error *err)
{
	const char *dots = strstr(text, "..");
	uint32_t least_ppm = 0, most_ppm = 0;
	char first[32];

	if (!dots || (size_t)(dots - text) >= sizeof(first))
		return fail_range(text, err);
	snprintf(first, sizeof(first), "%.*s", (int)(dots - text), text);
	if (clv_units_parse_fraction(first, &least_ppm, NULL) < 0 ||
		clv_units_parse_fraction(dots + 2, &most_ppm, NULL) < 0 ||
		least_ppm > most_ppm)
		return fail_range(text, err);

	*ret_least_ppm = least_ppm;
	*ret_most_ppm = most_ppm;
	return 0;
}

int clv_units_parse_duration(const char *text, uint64_t *ret_ns, struct clv_error *err)
{
	const struct unit *unit = NULL;
	struct decimal d;
	uint64_t ns;

	if (read_decimal(text, &d))
		unit = find_unit(duration_units, CLV_ARRAY_SIZE(duration_units), d.end);
	if (!unit || !scale_decimal(&d, unit->factor, &ns) || ns == 0)
		return clv_error_set(err, -EINVAL,
			"'%.40s' is not a duration: write a positive number with a "
			"unit, as 250ms, 30s, 5m or 2h",
			text);

	*ret_ns = ns;
	return 0;
}

void clv_units_format_bytes(uint64_t bytes, char buffer[32])
{
	static const char *const names[] = {
		"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t i = 0;

	while (value >= 1024 && i + 1 < CLV_ARRAY_SIZE(names)) {
		value /= 1024;
		i++;
	}
	if (value == (double)(uint64_t)value)
		snprintf(buffer, 32, "%.0f %s", value, names[i]);
	else
		snprintf(buffer, 32, "%.2f %s", value, names[i]);
}

void clv_units_format_fraction(uint32_t ppm, char buffer[16])
{
	int length = snprintf(buffer, 16, "%u.%06u", ppm / CLV_PPM, ppm % CLV_PPM);

	while (length > 3 && buffer[length - 1] == '0')
		buffer[--length] = '\0';
}
