/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/output.h"

#include <jansson.h>
#include <stdint.h>

/* How single values look in tables, for every verb the same. */

/* "30 %", "33.3 %" of a fraction 0..1. */
void clv_cell_percent(double fraction, char ret[CLV_CELL_MAX]);

/* "512M", "1.5G": short, binary. */
void clv_cell_bytes(uint64_t bytes, char ret[CLV_CELL_MAX]);

/* Of the device's time; "" below a hundredth of a second. */
void clv_cell_debt(double seconds, char ret[CLV_CELL_MAX]);

/* "idle, reset": texts and numbers of an array; what has no room is "...". */
void clv_cell_list(const json_t *array, const char *between, char ret[CLV_CELL_MAX]);

/* "12s", "3m", "2h", "5d" since an RFC 3339 time; "" when it cannot be read. */
void clv_cell_age(const char *rfc3339, char ret[CLV_CELL_MAX]);
