/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of single values of fleets and traces in YAML. */
#include "simulate/files/plan-read.h"

#include "base/error.h"
#include "base/units.h"
#include "core/fleet/fleet.h"
#include "core/fleet/request.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define COUNT_MAX 1000000
#define PPM_PER_MILLI 1000

int clv_plan_read_version(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t version;

	(void)into;
	return clv_yaml_read_number(value, 1, 1, &version, err);
}

int clv_plan_read_u64(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_number(value, 1, COUNT_MAX, into, err);
}

int clv_plan_read_small(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t number;
	int r = clv_yaml_read_number(value, 0, CLV_PLACE_DEVICES_MAX, &number, err);

	if (r >= 0)
		*(uint8_t *)into = (uint8_t)number;
	return r;
}

int clv_plan_read_index(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t number;
	int r = clv_yaml_read_number(value, 0, COUNT_MAX, &number, err);

	if (r >= 0)
		*(uint32_t *)into = (uint32_t)number;
	return r;
}

int clv_plan_read_cpus(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t number;
	int r = clv_yaml_read_number(value, 0, 1000000, &number, err);

	if (r >= 0)
		*(uint32_t *)into = (uint32_t)number * 1000;
	return r;
}

int clv_plan_read_mib(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t bytes;

	if (clv_units_parse_bytes(clv_yaml_text(value), &bytes, err) < 0)
		return clv_yaml_prefix_position(value, err);
	if (bytes / MIB > INT32_MAX)
		return clv_yaml_fail(value, err, -ERANGE, "that is too much memory");
	*(uint32_t *)into = (uint32_t)((bytes + MIB - 1) / MIB);
	return 0;
}

int clv_plan_read_share(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint32_t ppm;

	if (clv_units_parse_fraction(clv_yaml_text(value), &ppm, err) < 0)
		return clv_yaml_prefix_position(value, err);
	*(uint16_t *)into = (uint16_t)((ppm + PPM_PER_MILLI - 1) / PPM_PER_MILLI);
	return 0;
}

int clv_plan_read_ns(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	if (clv_units_parse_duration(clv_yaml_text(value), into, err) < 0)
		return clv_yaml_prefix_position(value, err);
	return 0;
}

int clv_plan_read_decimal(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	const char *text = clv_yaml_text(value);
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end || !isfinite(number) || number < 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no number from 0 on, as 2.5", text);
	*(double *)into = number;
	return 0;
}

int clv_plan_read_watts(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	const char *text = clv_yaml_text(value);
	struct clv_plan_watts watts;
	int end = 0;

	if (sscanf(text, "%6u..%6u%n", &watts.idle_w, &watts.full_w, &end) < 2 ||
		text[end] || strpbrk(text, " +-"))
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no power in watts, idle and in use, as 30..300",
			text);
	*(struct clv_plan_watts *)into = watts;
	return 0;
}

int clv_plan_read_name(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_text(value, into, 64, err);
}

int clv_plan_read_flag(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_bool(value, into, err);
}
