/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* The lines of `cleave top`, as a pure function of the agent's answers and the width, so
 * that tests need no terminal. */

enum clv_top_style {
	CLV_TOP_TITLE,
	CLV_TOP_DEVICE,
	CLV_TOP_HEADER,
	CLV_TOP_IDLE,
	CLV_TOP_HOLDING,
	CLV_TOP_WAITING,
	CLV_TOP_QUEUED,
	_CLV_TOP_STYLE_MAX,
};

#define CLV_TOP_WIDTH_MAX 240

struct clv_top_line {
	enum clv_top_style style;
	char text[CLV_TOP_WIDTH_MAX + 1];
};

struct clv_top_view {
	struct clv_top_line *lines;
	size_t n_lines;
	size_t n_fixed; /* the first lines, which do not scroll */
};

/* devices and leases are {"items": [...]}; no line is longer than width.  The caller
 * frees ret->lines.  0 or -ENOMEM. */
int clv_top_layout(const json_t *devices, const json_t *leases, int width,
	const char *clock_text, struct clv_top_view *ret);
