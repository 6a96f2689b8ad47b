/* SPDX-License-Identifier: Apache-2.0 */
/* cleave serve-plan: the MIG instances of the fewest GPUs that serve services with a rate
 * and a latency each.  It talks to no agent. */
#include "cli/frame/verbs.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"
#include "cli/frame/cells.h"
#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "core/gpu/gpu.h"
#include "core/gpu/mig.h"
#include "core/serve/serve.h"
#include "simulate/files/serve-file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request may wait for the batch before its own, and a tenth is reserve. */
#define USUAL_PART_PPM 450000

struct serve_settings {
	struct clv_common common;
	uint32_t part_ppm;
	uint64_t most_gpus;
};

/* The services, and by service and size the row of its table that an instance runs. */
struct serving {
	struct clv_serve_file file;
	const struct clv_serve_measure *best[CLV_SERVE_SERVICES_MAX][_CLV_SERVE_SIZES];
	const char *profiles[_CLV_SERVE_SIZES];
};

static void cell_rate(const json_t *row, char ret[CLV_CELL_MAX])
{
	snprintf(ret, CLV_CELL_MAX, "%.6g", clv_json_number(row, "rate"));
}

static const struct clv_column columns[] = {
	/* clang-format off */
	/* header       cell       right  fit    rank   rare   key */
	{ "GPU",        NULL,      true,  WHOLE, 0,     false, "gpu" },
	{ "PROFILE",    NULL,      false, WHOLE, 0,     false, "profile" },
	{ "START",      NULL,      true,  WHOLE, 1,     false, "start" },
	{ "SERVICE",    NULL,      false, CUT,   0,     false, "service" },
	{ "PROCESSES",  NULL,      true,  WHOLE, 1,     false, "processes" },
	{ "BATCH",      NULL,      true,  WHOLE, 1,     false, "batch" },
	{ "RATE",       cell_rate, true,  WHOLE, 0,     false, NULL },
	/* clang-format on */
};

static const struct clv_listing listing = {
	.columns = columns,
	.n_columns = CLV_ARRAY_SIZE(columns),
	.name_key = "service",
};

/* The profile that the planner means by a size: of so many slices and units of the grid,
 * without media engines of its own or other attributes. */
static const char *profile_of(const struct clv_mig_model *model, unsigned size)
{
	for (size_t i = 0; i < model->n_profiles; i++) {
		const struct clv_mig_profile *profile = &model->profiles[i];

		if (profile->attributes == 0 &&
			profile->slices == clv_serve_slices[size] &&
			profile->size == clv_serve_units[size])
			return profile->name;
	}
	return NULL;
}

static int find_profiles(struct serving *serving)
{
	const char *name = serving->file.model;
	const struct clv_mig_model *model = clv_mig_model_find(name);

	if (!model)
		return clv_cli_fail(CLV_EXIT_BAD_FILE,
			"'%.40s' is no model whose MIG profiles are known: cleave "
			"profiles lists those of a node",
			name);
	for (unsigned i = 0; i < _CLV_SERVE_SIZES; i++) {
		serving->profiles[i] = profile_of(model, i);
		if (!serving->profiles[i])
			return clv_cli_fail(CLV_EXIT_BAD_FILE,
				"a plan needs a GPU with instances of 1, 2, 3, 4 and 7 "
				"slices: '%.40s' has none of %u",
				name, clv_serve_slices[i]);
	}
	return 0;
}

/* Fills the capacities of a service. */
static int measure_service(struct serving *serving, size_t at, uint32_t part_ppm,
	struct clv_serve_service *ret)
{
	const struct clv_serve_entry *entry = &serving->file.entries[at];
	bool is_able = false;

	ret->rate = entry->rate;
	for (unsigned size = 0; size < _CLV_SERVE_SIZES; size++) {
		const struct clv_serve_measure *best =
			clv_serve_file_best(entry, size, part_ppm);

		serving->best[at][size] = best;
		ret->capacity[size] = best ? best->rate : 0;
		is_able |= best != NULL;
	}
	if (is_able)
		return 0;
	return clv_cli_fail(CLV_EXIT_NO_FIT,
		"no instance meets the latency of '%.60s': in its table no batch takes "
		"%g "
		"of %g s or less",
		entry->name, part_ppm / (double)CLV_PPM, (double)entry->latency_ns / 1e9);
}

static int find_plan(const struct serve_settings *settings, struct serving *serving,
	struct clv_serve_plan *ret)
{
	static struct clv_serve_service services[CLV_SERVE_SERVICES_MAX];
	uint32_t part_ppm = settings->part_ppm ? settings->part_ppm : USUAL_PART_PPM;
	size_t n = serving->file.n_entries;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = measure_service(serving, i, part_ppm, &services[i]);
	if (r)
		return r;
	r = clv_serve_plan(services, n, ret);
	if (r == -ERANGE)
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"the services need more than %d GPUs: plan them in several files",
			CLV_SERVE_GPUS_MAX);
	return r < 0 ? clv_cli_fail(CLV_EXIT_FAILED, "out of memory") : 0;
}

static json_t *row_of(
	const struct serving *serving, const struct clv_serve_instance *instance)
{
	const struct clv_serve_measure *best =
		serving->best[instance->service][instance->size];

	return json_pack("{s:i, s:s, s:i, s:s, s:i, s:i, s:f}", "gpu", (int)instance->gpu,
		"profile", serving->profiles[instance->size], "start",
		(int)instance->start, "service",
		serving->file.entries[instance->service].name, "processes",
		(int)best->n_processes, "batch", (int)best->batch, "rate", best->rate);
}

static int compare_places(const void *a, const void *b)
{
	const struct clv_serve_instance *one = a, *other = b;

	if (one->gpu != other->gpu)
		return one->gpu < other->gpu ? -1 : 1;
	return one->start < other->start ? -1 : one->start > other->start;
}

static int show(const struct serve_settings *settings, const struct serving *serving,
	struct clv_serve_plan *plan)
{
	const char *format = settings->common.output;
	json_t *items = json_array();
	_cleanup_json_ json_t *list = json_pack("{s:o, s:i, s:b}", "items", items, "gpus",
		(int)plan->n_gpus, "proven", (int)plan->is_exact);

	qsort(plan->instances, plan->n_instances, sizeof(*plan->instances),
		compare_places);
	for (size_t i = 0; i < plan->n_instances; i++)
		json_array_append_new(items, row_of(serving, &plan->instances[i]));
	if (clv_output_list(&listing, format, list) < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot write the result: %m");
	if (!format || strcmp(format, "table") == 0)
		clv_output_line(stdout, "%u GPUs, %s the fewest", plan->n_gpus,
			plan->is_exact ? "proven" : "not proven to be");
	if (settings->most_gpus && plan->n_gpus > settings->most_gpus)
		return clv_cli_fail(CLV_EXIT_NO_FIT,
			"the services need %u GPUs: --gpus allows %llu", plan->n_gpus,
			(unsigned long long)settings->most_gpus);
	return CLV_EXIT_OK;
}

static int run_serve_plan(const void *userdata, int argc, char **argv)
{
	const struct serve_settings *settings = userdata;
	static struct serving serving;
	struct clv_serve_plan plan = {0};
	struct clv_error err;
	int r;

	(void)argc;
	if (clv_serve_file_read(argv[0], &serving.file, &err) < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	r = find_profiles(&serving);
	if (r == 0)
		r = find_plan(settings, &serving, &plan);
	if (r == 0)
		r = show(settings, &serving, &plan);
	free(plan.instances);
	clv_serve_file_done(&serving.file);
	return r;
}

static const struct clv_opt options[] = {
	{
		.name = "gpus",
		.type = CLV_OPT_POSITIVE,
		.offset = CLV_OPT_AT(struct serve_settings, most_gpus),
		.argument = "COUNT",
		.help = "Exit with 75 if more GPUs are needed",
	},
	{
		.name = "batch-part",
		.type = CLV_OPT_FRACTION,
		.offset = CLV_OPT_AT(struct serve_settings, part_ppm),
		.argument = "FRACTION",
		.help = "The part of a service's latency that a measured batch may take "
			"(default 0.45: a request may wait for one batch before its own)",
	},
	CLV_OPT_HELP,
	CLV_OPT_OUTPUT,
};

const struct clv_verb clv_verb_serve_plan = {
	.name = "serve-plan",
	.arguments = "FILE",
	.summary = "find MIG instances on the fewest GPUs for services with a rate",
	.about =
		"FILE lists services in YAML, each with a rate, a latency and a table of "
		"what was measured on MIG instances. The exit code is "
		"75 if no instance meets a latency, or if more GPUs are needed than "
		"--gpus allows.",
	.settings_bytes = sizeof(struct serve_settings),
	.options = options,
	.n_options = CLV_ARRAY_SIZE(options),
	.min_arguments = 1,
	.max_arguments = 1,
	.completes = CLV_COMPLETE_FILE,
	.run = run_serve_plan,
};
