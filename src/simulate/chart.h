/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "simulate/replay.h"

#include <stdio.h>

/* Curves of several replays as an SVG: allocation, what is stranded, devices in use, each
 * against what x says: the load that arrived, or the time. */
struct clv_chart_series {
	const char *name;
	const struct clv_replay_point *points; /* CLV_REPLAY_POINTS of them */
	uint32_t n_devices;
};

/* At most eight are distinguished by colour. */
void clv_chart_write(FILE *file, const char *title, const char *x,
	const struct clv_chart_series *series, size_t n_series);
