/* SPDX-License-Identifier: Apache-2.0 */
/* Formats values for table cells, shortened for people; JSON output has the exact values.
 */
#include "cli/frame/cells.h"

#include "base/cleanup.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void clv_cell_percent(double fraction, char ret[CLV_CELL_MAX])
{
	double percent = fraction * 100;
	double rounded = (double)(int64_t)(percent + 0.5);
	bool is_whole = percent - rounded < 0.05 && rounded - percent < 0.05;

	snprintf(ret, CLV_CELL_MAX, is_whole ? "%.0f%%" : "%.1f%%", percent);
}

/* What a lease that computes owes from one turn to the next is less. */
#define LEAST_DEBT_S 0.1

void clv_cell_debt(double seconds, char ret[CLV_CELL_MAX])
{
	ret[0] = '\0';
	if (seconds >= LEAST_DEBT_S)
		snprintf(ret, CLV_CELL_MAX, "%.2f s", seconds);
}

void clv_cell_bytes(uint64_t bytes, char ret[CLV_CELL_MAX])
{
	static const char *const units[] = {"", "K", "M", "G", "T", "P", "E"};
	double value = (double)bytes;
	size_t i = 0;

	while (value >= 1024 && i + 1 < CLV_ARRAY_SIZE(units)) {
		value /= 1024;
		i++;
	}
	if (value == (double)(uint64_t)value || value >= 100)
		snprintf(ret, CLV_CELL_MAX, "%.0f%s", value, units[i]);
	else
		snprintf(ret, CLV_CELL_MAX, "%.1f%s", value, units[i]);
}

void clv_cell_age(const char *rfc3339, char ret[CLV_CELL_MAX])
{
	struct tm t = {};
	long long seconds;

	ret[0] = '\0';
	if (!strptime(rfc3339, "%Y-%m-%dT%H:%M:%S", &t))
		return;
	seconds = (long long)(time(NULL) - timegm(&t));
	if (seconds < 0)
		seconds = 0;
	if (seconds < 120)
		snprintf(ret, CLV_CELL_MAX, "%llds", seconds);
	else if (seconds < 7200)
		snprintf(ret, CLV_CELL_MAX, "%lldm", seconds / 60);
	else if (seconds < 172800)
		snprintf(ret, CLV_CELL_MAX, "%lldh", seconds / 3600);
	else
		snprintf(ret, CLV_CELL_MAX, "%lldd", seconds / 86400);
}

void clv_cell_list(const json_t *array, const char *between, char ret[CLV_CELL_MAX])
{
	size_t i, used = 0;
	json_t *item;

	ret[0] = '\0';
	json_array_foreach (array, i, item) {
		char text[96] = "";

		if (json_is_string(item))
			snprintf(text, sizeof(text), "%s", json_string_value(item));
		else
			snprintf(text, sizeof(text), "%.0f", json_number_value(item));
		assert(used < CLV_CELL_MAX);
		if (used + strlen(text) + 8 > CLV_CELL_MAX) {
			snprintf(ret + used, CLV_CELL_MAX - used, "%s...", between);
			return;
		}
		used += (size_t)snprintf(
			ret + used, CLV_CELL_MAX - used, "%s%s", i ? between : "", text);
	}
}
