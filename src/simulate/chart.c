/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the curves of replays as an SVG with one panel for each quantity. */
#include "simulate/chart.h"

#include "base/cleanup.h"

#include <math.h>

#define WIDTH 900
#define PANEL_HEIGHT 230
#define LEFT 70
#define RIGHT 170
#define TOP 40
#define GAP 50

static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
	"#56b4e9", "#e69f00", "#000000", "#999999"};

static double allocated(const struct clv_replay_point *point, uint32_t n_devices)
{
	(void)n_devices;
	return 100 * point->allocated;
}

static double stranded(const struct clv_replay_point *point, uint32_t n_devices)
{
	(void)n_devices;
	return 100 * point->stranded;
}

static double in_use(const struct clv_replay_point *point, uint32_t n_devices)
{
	return n_devices ? 100.0 * point->in_use / n_devices : 0;
}

static const struct panel {
	const char *title;
	double (*value)(const struct clv_replay_point *point, uint32_t n_devices);
} panels[] = {
	{"allocated, % of the fleet's compute", allocated},
	{"stranded for the workload, %", stranded},
	{"devices in use, %", in_use},
};

struct frame {
	double top, most_x, least_y, most_y;
};

static double x_of(const struct frame *frame, double value)
{
	return LEFT + value / frame->most_x * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct frame *frame, double value)
{
	return frame->top + PANEL_HEIGHT -
	       (value - frame->least_y) / (frame->most_y - frame->least_y) * PANEL_HEIGHT;
}

static struct frame frame_of(const struct panel *panel, unsigned number,
	const struct clv_chart_series *series, size_t n_series)
{
	struct frame frame = {
		.top = TOP + number * (double)(PANEL_HEIGHT + GAP), .most_x = 1};

	for (size_t i = 0; i < n_series; i++) {
		for (unsigned x = 0; x < CLV_REPLAY_POINTS; x++) {
			const struct clv_replay_point *point = &series[i].points[x];

			if (point->n == 0)
				continue;
			frame.most_x = fmax(frame.most_x, x);
			frame.most_y = fmax(
				frame.most_y, panel->value(point, series[i].n_devices));
		}
	}
	frame.most_y = fmax(5, 5 * ceil(frame.most_y / 5));
	return frame;
}

static void write_axes(FILE *file, const struct panel *panel, const struct frame *frame)
{
	fprintf(file, "<text x=\"%d\" y=\"%.1f\" font-weight=\"bold\">%s</text>\n", LEFT,
		frame->top - 8, panel->title);
	for (unsigned i = 0; i <= 5; i++) {
		double y = frame->least_y + (frame->most_y - frame->least_y) * i / 5;
		double x = frame->most_x * i / 5;

		fprintf(file,
			"<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>"
			"<text x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"middle\">%.4g</text>\n",
			LEFT, y_of(frame, y), WIDTH - RIGHT, LEFT - 6, y_of(frame, y) + 4,
			y, x_of(frame, x), frame->top + PANEL_HEIGHT + 16, x);
	}
}

static void write_curve(FILE *file, const struct panel *panel, const struct frame *frame,
	const struct clv_chart_series *series, size_t number)
{
	const char *colour = colours[number % CLV_ARRAY_SIZE(colours)];
	char letter = 'M';

	fprintf(file, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"",
		colour);
	for (unsigned x = 0; x < CLV_REPLAY_POINTS; x++) {
		if (series->points[x].n == 0)
			continue;
		fprintf(file, "%c%.1f %.1f", letter, x_of(frame, x),
			y_of(frame, panel->value(&series->points[x], series->n_devices)));
		letter = 'L';
	}
	fprintf(file, "\"/>\n");
}

static void write_legend(
	FILE *file, const struct clv_chart_series *series, size_t n_series)
{
	for (size_t i = 0; i < n_series; i++)
		fprintf(file,
			"<rect x=\"%d\" y=\"%zu\" width=\"14\" height=\"4\" fill=\"%s\"/>"
			"<text x=\"%d\" y=\"%zu\">%s</text>\n",
			WIDTH - RIGHT + 14, TOP + 6 + 20 * i,
			colours[i % CLV_ARRAY_SIZE(colours)], WIDTH - RIGHT + 34,
			TOP + 12 + 20 * i, series[i].name);
}

void clv_chart_write(FILE *file, const char *title, const char *x,
	const struct clv_chart_series *series, size_t n_series)
{
	unsigned height = TOP + CLV_ARRAY_SIZE(panels) * (PANEL_HEIGHT + GAP) + 10;

	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n"
		"<title>%s</title>\n<rect width=\"%d\" height=\"%u\" fill=\"white\"/>\n",
		WIDTH, height, title, WIDTH, height);
	for (unsigned i = 0; i < CLV_ARRAY_SIZE(panels); i++) {
		struct frame frame = frame_of(&panels[i], i, series, n_series);

		write_axes(file, &panels[i], &frame);
		for (size_t k = 0; k < n_series; k++)
			write_curve(file, &panels[i], &frame, &series[k], k);
	}
	write_legend(file, series, n_series);
	fprintf(file,
		"<text x=\"%d\" y=\"%u\" text-anchor=\"middle\">%s</text>\n</svg>\n",
		(LEFT + WIDTH - RIGHT) / 2, height - 10, x);
}
