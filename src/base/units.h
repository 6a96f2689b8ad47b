/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct clv_error;

/* Numbers as users write them.  All parsers return 0 or -EINVAL / -ERANGE with *err set,
 * take the whole string (no trailing text), and leave *ret unchanged on failure. */

/* One whole in parts per million.  Fractions of a device are integers in this unit, so
 * that three times a third and ten times a tenth never exceed one by rounding. */
#define CLV_PPM UINT32_C(1000000)

/* "512M", "1.5GiB", "2GB", "4096": K M G T and Ki Mi Gi Ti (with or without B after the i
 * form) are binary, KB MB GB TB decimal.  More than zero. */
int clv_units_parse_bytes(const char *text, uint64_t *ret_bytes, struct clv_error *err);

/* "0.3", "30%", "6/20": more than 0, at most 1. */
int clv_units_parse_fraction(const char *text, uint32_t *ret_ppm, struct clv_error *err);

/* "0.1..0.6": two fractions, the first at most as large as the second. */
int clv_units_parse_range(const char *text, uint32_t *ret_least_ppm,
	uint32_t *ret_most_ppm, struct clv_error *err);

/* "250ms", "30s", "5m", "2h", "1d"; a bare number is seconds.  More than zero. */
int clv_units_parse_duration(const char *text, uint64_t *ret_ns, struct clv_error *err);

/* "512 MiB", "1.50 GiB", "0 B": in the largest binary unit that keeps the number at 1 or
 * above. */
void clv_units_format_bytes(uint64_t bytes, char buffer[32]);

/* "0.3", "0.333333": the shortest exact form. */
void clv_units_format_fraction(uint32_t ppm, char buffer[16]);
