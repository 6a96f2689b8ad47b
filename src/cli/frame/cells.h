/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/output.h"

#include <jansson.h>
#include <stdint.h>

/* Formats of single values in table cells, the same for every verb. */

/* A fraction 0..1 as "30%" or "33.3%". */
void clv_cell_percent(double fraction, char ret[CLV_CELL_MAX]);

/* "512M", "1.5G": binary units, rounded. */
void clv_cell_bytes(uint64_t bytes, char ret[CLV_CELL_MAX]);

/* Seconds of device time as "0.25 s"; "" below a tenth of a second. */
void clv_cell_debt(double seconds, char ret[CLV_CELL_MAX]);

/* Joins the strings and numbers of an array, as "idle, reset"; "..." replaces items that
 * do not fit. */
void clv_cell_list(const json_t *array, const char *between, char ret[CLV_CELL_MAX]);

/* The time since an RFC 3339 time, as "12s", "3m", "2h", "5d"; "" if it cannot be parsed.
 */
void clv_cell_age(const char *rfc3339, char ret[CLV_CELL_MAX]);
