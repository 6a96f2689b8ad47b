/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "simulate/replay.h"

#include <stdio.h>

/* Writes curves of several replays as SVG: allocated compute, stranded compute and
 * devices in use, each over the load that arrived or over time, as the label x says. */
struct clv_chart_series {
	const char *name;
	const struct clv_replay_point *points; /* CLV_REPLAY_POINTS of them */
	uint32_t n_devices;
};

/* At most eight are distinguished by colour. */
void clv_chart_write(FILE *file, const char *title, const char *x,
	const struct clv_chart_series *series, size_t n_series);
