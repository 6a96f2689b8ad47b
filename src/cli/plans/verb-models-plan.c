/* SPDX-License-Identifier: Apache-2.0 */
/* cleave models-plan: which model goes on which GPU, so that the caches of requests have
 * as much room as possible.  It talks to no agent. */
#include "cli/frame/verbs.h"

#include "base/error.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "core/serve/models.h"
#include "simulate/files/models-file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Steps of the search, some tens of nanoseconds each. */
#define STEPS 1000000

struct models_settings {
	struct clv_common common;
};

struct models_result {
	struct clv_models_plan plan;
	unsigned n_gpus;
	bool is_proven;
};

static void cell_weights(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_bytes((uint64_t)clv_json_number(row, "weights_bytes"), ret);
}

static void cell_cache(const json_t *row, char ret[CLV_CELL_MAX])
{
	clv_cell_bytes((uint64_t)clv_json_number(row, "cache_bytes"), ret);
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header     cell          right  fit    rank   rare   key */
	{ "GPU",      NULL,         true,  WHOLE, 0,     false, "gpu" },
	{ "MODEL",    NULL,         false, CUT,   0,     false, "model" },
	{ "WEIGHTS",  cell_weights, true,  WHOLE, 0,     false, NULL },
	{ "CACHE",    cell_cache,   true,  WHOLE, 0,     true,  "cache_bytes" },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "model",
};

/* A model that fits on no GPU alone, or NULL. */
static const char *too_large(const struct clv_models_file *file)
{
	for (size_t i = 0; i < file->n_models; i++) {
		const struct clv_models_model *model = &file->models[i];
		double needed = model->size + (file->has_caches ? model->demand : 0);

		if (needed > file->memory_mib ||
			(!file->has_caches && needed >= file->memory_mib))
			return file->names[i];
	}
	return NULL;
}

/* The fewest GPUs that the sums allow. */
static unsigned fewest_by_sums(const struct clv_models_file *file)
{
	double sum = 0;

	for (size_t i = 0; i < file->n_models; i++)
		sum += file->models[i].size + file->models[i].demand;
	return (unsigned)fmax(1, ceil(sum / file->memory_mib - 1e-9));
}

/* The fewest GPUs on which the caches fit: each model has one of its own at most. */
static int find_fewest(const struct clv_models_file *file, struct models_result *ret)
{
	unsigned n = fewest_by_sums(file);
	bool is_proven = true;

	for (; n < file->n_models; n++) {
		int r = clv_models_plan(file->models, file->n_models, n, file->memory_mib,
			STEPS, &ret->plan);

		if (r == 0 && ret->plan.worst <= 1 + 1e-9)
			break;
		is_proven = is_proven && r == 0 && ret->plan.is_proven;
	}
	ret->n_gpus = n;
	ret->is_proven = is_proven;
	return clv_models_plan(
		file->models, file->n_models, n, file->memory_mib, STEPS, &ret->plan);
}

static int find(const struct clv_models_file *file, struct models_result *ret)
{
	int r;

	if (file->n_gpus == 0)
		return find_fewest(file, ret);
	ret->n_gpus = file->n_gpus;
	r = clv_models_plan(file->models, file->n_models, file->n_gpus, file->memory_mib,
		STEPS, &ret->plan);
	ret->is_proven = r == 0 && ret->plan.is_proven;
	return r;
}

static json_t *rows_of(
	const struct clv_models_file *file, const struct models_result *result)
{
	json_t *items = json_array();

	for (unsigned gpu = 0; gpu < result->n_gpus; gpu++) {
		for (size_t i = 0; i < file->n_models; i++) {
			json_t *row;

			if (result->plan.gpu[i] != gpu)
				continue;
			row = json_pack("{s:i, s:s, s:I}", "gpu", (int)gpu, "model",
				file->names[i], "weights_bytes",
				(json_int_t)(file->models[i].size * 0x1p20));
			if (file->has_caches)
				json_object_set_new(row, "cache_bytes",
					json_integer((json_int_t)(file->models[i].demand *
								  0x1p20)));
			json_array_append_new(items, row);
		}
	}
	return items;
}

/* The pressure as people read it: the part of the memory beside the weights that caches
 * need, or the demand for each GiB of it. */
static void tell(const struct clv_models_file *file, const struct models_result *result)
{
	const char *proof = result->is_proven ? "proven" : "not proven to be";

	if (!file->has_caches)
		clv_output_line(stdout,
			"on %u GPUs the highest demand is %.6g for each GiB beside the "
			"weights, %s the least",
			result->n_gpus, result->plan.worst * 1024, proof);
	else if (file->n_gpus)
		clv_output_line(stdout,
			"on %u GPUs the caches need at most %.1f %% of the memory beside "
			"the weights, %s the least",
			result->n_gpus, 100 * result->plan.worst, proof);
	else
		clv_output_line(stdout,
			"%u GPUs, %s the fewest; the caches need at most %.1f %% of the "
			"memory beside the weights",
			result->n_gpus, proof, 100 * result->plan.worst);
}

static int show(const struct models_settings *settings,
	const struct clv_models_file *file, const struct models_result *result)
{
	const char *format = settings->common.output;
	double pressure = result->plan.worst * (file->has_caches ? 1 : 1024);
	_cleanup_json_ json_t *list = json_pack("{s:o, s:i, s:f, s:b}", "items",
		rows_of(file, result), "gpus", (int)result->n_gpus, "pressure", pressure,
		"proven", (int)result->is_proven);

	if (clv_output_list(&listing, format, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the result: %m");
	if (!format || strcmp(format, "table") == 0)
		tell(file, result);
	return CLV_EXIT_OK;
}

static int run_models_plan(const void *userdata, int argc, char **argv)
{
	static struct clv_models_file file;
	struct models_result result = {0};
	const char *name;
	struct clv_error err;
	int r;

	(void)argc;
	if (clv_models_file_read(argv[0], &file, &err) < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	name = too_large(&file);
	if (name)
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"'%.60s' does not fit on a GPU: its weights%s exceed the memory "
			"of "
			"%u MiB",
			name, file.has_caches ? " and caches" : "", file.memory_mib);
	r = find(&file, &result);
	if (r == 0 && !(file.has_caches && result.plan.worst > 1 + 1e-9))
		return show(userdata, &file, &result);
	if (r == 0)
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"the caches need %.1f %% of the memory that the weights leave on "
			"%u GPUs: leave out gpus to find how many are enough",
			100 * result.plan.worst, result.n_gpus);
	return clv_cli_fail(CLV_EXIT_NO_FIT,
		"no division of the weights among %u GPUs was found: more GPUs are "
		"needed",
		result.n_gpus);
}

static const struct clv_opt options[] = {
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
};

const struct clv_verb clv_verb_models_plan = {
	.name = "models-plan",
	.arguments = "FILE",
	.summary = "divide models among GPUs so that their caches have the most room",
	.about = "FILE lists models in YAML, with the memory of their weights and with "
		 "what "
		 "their requests demand. The exit code is 75 if they do not fit.",
	.settings_bytes = sizeof(struct models_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = 1,
	.completes = CLV_COMPLETE_FILE,
	.run = run_models_plan,
};
