/* SPDX-License-Identifier: Apache-2.0 */
/* cleave fit --predict: simulates programs together, from their reports. */
#include "cli/fleet/predict.h"

#include "base/error.h"
#include "base/units.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "simulate/predict/margin.h"
#include "simulate/predict/predict.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 128
/* The assumed length of a command, if the report has none. */
#define COMMAND_S 0.001
/* The part of the measured pairs that are within their intervals; of few all are. */
#define WANTED 0.9

struct prediction {
	struct clv_predict_program programs[CLV_PREDICT_MAX];
	char names[CLV_PREDICT_MAX][NAME_MAX_BYTES];
	char device[NAME_MAX_BYTES];
	size_t n;
	uint64_t share_ppm;
};

static void cell_alone(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.0f %%", 100 * clv_json_number(row, "alone"));
}

static void cell_held(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.0f %%", 100 * clv_json_number(row, "held"));
}

static void cell_share(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%g", clv_json_number(row, "share"));
}

static void cell_slowdown(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.2f", clv_json_number(row, "slowdown"));
}

static void cell_between(const json_t *row, char ret[CLV_CELL_MAX])
{
	if (!json_is_number(json_object_get(row, "slowdown_from")))
		snprintf(ret, CLV_CELL_MAX, "-");
	else
		snprintf(ret, CLV_CELL_MAX, "%.2f to %.2f",
			clv_json_number(row, "slowdown_from"),
			clv_json_number(row, "slowdown_to"));
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header      cell           right  fit    rank   rare   key */
	{ "PROGRAM",   NULL,          false, CUT,   0,     false, "program" },
	{ "SHARE",     cell_share,    true,  WHOLE, 0,     false, NULL },
	{ "CLASS",     NULL,          false, WHOLE, 1,     false, "class" },
	{ "ALONE",     cell_alone,    true,  WHOLE, 1,     false, NULL },
	{ "TOGETHER",  cell_held,     true,  WHOLE, 1,     false, NULL },
	{ "SLOWDOWN",  cell_slowdown, true,  WHOLE, 0,     false, NULL },
	{ "BETWEEN",   cell_between,  true,  WHOLE, 0,     false, NULL },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "program",
};

/* Parses "=0.3" or "=0.3,latency" after the path, and cuts text at the equals sign. */
static int read_words(char *text, struct clv_predict_program *program)
{
	char *share = strchr(text, '='), *class = share ? strchr(share, ',') : NULL;
	struct clv_error err;

	if (!share)
		return 0;
	*share++ = '\0';
	if (class) {
		*class ++ = '\0';
		program->class = clv_class_from_string(class);
		if (program->class < 0)
			return clv_cli_fail(CLV_EXIT_USAGE,
				"'%.40s' is not a class: write latency, normal or batch",
				class);
	}
	if (clv_units_parse_fraction(share, &program->share_ppm, &err) < 0)
		return clv_cli_fail(CLV_EXIT_USAGE, "%s", err.msg);
	return 0;
}

int clv_predict_read_report(
	const char *path, struct clv_predict_program *ret, json_t **ret_report)
{
	json_error_t why;
	json_t *report = json_load_file(path, 0, &why);
	const json_t *at_work = json_object_get(report, "at_work");
	const json_t *proposal = json_object_get(report, "proposal");
	double command_s = clv_json_number(at_work, "command_seconds");

	if (!report)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%.200s: %s", path,
			why.line > 0 ? why.text : "it cannot be read");
	*ret_report = report;
	ret->busy = clv_json_number(at_work, "part");
	ret->pauses = clv_json_number(at_work, "pauses_per_second");
	ret->command_ns = (uint64_t)((command_s > 0 ? command_s : COMMAND_S) * 1e9);
	ret->share_ppm = (uint32_t)(clv_json_number(proposal, "share") * CLV_PPM);
	ret->class = clv_class_from_string(clv_json_text(proposal, "class"));
	if (ret->busy <= 0 || ret->busy > 1 || ret->share_ppm == 0 || ret->class < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE,
			"%.200s: it is not a report of cleave profile, or its program "
			"never computed",
			path);
	return 0;
}

/* The file's name without its folder and ending. */
static void copy_name(const char *path, char ret[NAME_MAX_BYTES])
{
	const char *from = strrchr(path, '/');
	size_t length;

	snprintf(ret, NAME_MAX_BYTES, "%s", from ? from + 1 : path);
	length = strlen(ret);
	if (length > 5 && strcmp(ret + length - 5, ".json") == 0)
		ret[length - 5] = '\0';
}

static int read_one(struct prediction *prediction, char *text)
{
	struct clv_predict_program *program = &prediction->programs[prediction->n];
	struct clv_predict_program words = {.class = _CLV_CLASS_INVALID};
	_cleanup_json_ json_t *report = NULL;
	int r = read_words(text, &words);

	if (r == 0)
		r = clv_predict_read_report(text, program, &report);
	if (r)
		return r;
	if (words.share_ppm)
		program->share_ppm = words.share_ppm;
	if (words.class >= 0)
		program->class = words.class;
	copy_name(text, prediction->names[prediction->n++]);
	prediction->share_ppm += program->share_ppm;
	if (clv_json_flag(report, "disturbed"))
		clv_output_line(stderr,
			"cleave: %s: other leases used the device during the "
			"measurement",
			text);
	if (prediction->device[0] == '\0')
		snprintf(prediction->device, sizeof(prediction->device), "%s",
			clv_json_text(report, "device"));
	else if (strcmp(prediction->device, clv_json_text(report, "device")) != 0)
		clv_output_line(stderr,
			"cleave: %s: it was measured on %s, the first report on %s", text,
			clv_json_text(report, "device"), prediction->device);
	return 0;
}

static json_t *row_of(const struct prediction *prediction, size_t i,
	const struct clv_predict_margin *margin)
{
	const struct clv_predict_program *program = &prediction->programs[i];

	json_t *row = json_pack("{s:s, s:f, s:s, s:f, s:f, s:f, s:n, s:n, s:n}",
		"program", prediction->names[i], "share",
		(double)program->share_ppm / CLV_PPM, "class",
		clv_class_to_string(program->class), "alone", program->busy, "held",
		program->held, "slowdown", program->slowdown, "slowdown_from",
		"slowdown_to", "measured_pairs");

	if (prediction->n != 2)
		return row;
	json_object_set_new(
		row, "slowdown_from", json_real(program->slowdown / margin->factor));
	json_object_set_new(
		row, "slowdown_to", json_real(program->slowdown * margin->factor));
	json_object_set_new(row, "measured_pairs", json_integer((int)margin->n_pairs));
	return row;
}

static int show(const struct clv_common *common, const struct prediction *prediction)
{
	struct clv_predict_margin margin = clv_predict_margin(WANTED);
	json_t *items = json_array();
	_cleanup_json_ json_t *list = json_pack("{s:o}", "items", items);

	for (size_t i = 0; i < prediction->n; i++)
		json_array_append_new(items, row_of(prediction, i, &margin));
	if (clv_output_list(&listing, common->output, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the result: %m");
	if (!clv_output_is_data(common->output) && prediction->n == 2)
		clv_output_line(stdout,
			"between: by the largest error of %zu pairs that were measured, "
			"on PoCL; pairs of other kinds may be further off",
			margin.n_pairs);
	return CLV_EXIT_OK;
}

int clv_predict_show(const struct clv_common *common, int argc, char **argv)
{
	struct prediction prediction = {0};
	char promised[16];
	int r = 0;

	if (argc > CLV_PREDICT_MAX)
		return clv_cli_fail(CLV_EXIT_USAGE,
			"too many reports: at most %d at a time", CLV_PREDICT_MAX);
	for (int i = 0; r == 0 && i < argc; i++)
		r = read_one(&prediction, argv[i]);
	if (r)
		return r;
	if (prediction.share_ppm > CLV_PPM) {
		clv_units_format_fraction((uint32_t)prediction.share_ppm, promised);
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"the shares add up to %s of a device: give smaller ones, as "
			"%s.json=0.3",
			promised, prediction.names[0]);
	}
	if (clv_predict(prediction.programs, prediction.n) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "out of memory");
	return show(common, &prediction);
}
