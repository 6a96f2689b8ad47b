/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether GPU instances fit on a GPU, with core's tables and search, and adds them
 * to a rule. */
#include "import/mig.h"

#include "base/error.h"
#include "core/gpu/gpu.h"
#include "core/gpu/mig-plan.h"
#include "import/import.h"
#include "import/internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum fit {
	LACKS, /* the model lacks one of the profiles */
	FULL,  /* it has all profiles, but no room for so many */
	FITS,
};

/* How many of the profile an empty GPU holds; 0 when it lacks it. */
static unsigned capacity_of(const struct clv_mig_model *model, const char *name)
{
	static const struct clv_mig_set empty;
	int profile = clv_mig_profile_find(model, name, NULL);

	return profile < 0 ? 0 : clv_mig_set_capacity(model, &empty, (uint8_t)profile);
}

/* The sum over all rows, which may differ in their compute instances. */
static uint32_t count_of(const struct clv_import_row *rows, size_t n, const char *profile)
{
	uint32_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].profile, profile) == 0)
			count += rows[i].count;
	}
	return count;
}

static enum fit fit_on(
	const struct clv_mig_model *model, const struct clv_import_row *rows, size_t n)
{
	struct clv_mig_wanted wishes[CLV_MIG_INSTANCES_MAX];
	struct clv_mig_solution answer;
	size_t n_wishes = 0;

	for (size_t i = 0; i < n; i++) {
		if (clv_mig_profile_find(model, rows[i].profile, NULL) < 0)
			return LACKS;
	}
	/* A single profile that is too much needs no search. */
	for (size_t i = 0; i < n; i++) {
		if (count_of(rows, n, rows[i].profile) >
			capacity_of(model, rows[i].profile))
			return FULL;
	}
	for (size_t i = 0; i < n; i++) {
		int profile = clv_mig_profile_find(model, rows[i].profile, NULL);

		for (uint32_t j = 0; j < rows[i].count; j++) {
			if (n_wishes == CLV_MIG_INSTANCES_MAX)
				return FULL;
			wishes[n_wishes++] = (struct clv_mig_wanted){
				(uint8_t)profile, CLV_MIG_ANYWHERE};
		}
	}
	return clv_mig_solve(model, NULL, 0, wishes, n_wishes, &answer) < 0 ? FULL : FITS;
}

static int fail_with_full(const struct clv_mig_model *model,
	const struct clv_import_row *rows, size_t n, struct clv_yaml_value place,
	struct clv_error *err)
{
	for (size_t i = 0; i < n; i++) {
		unsigned capacity = capacity_of(model, rows[i].profile);
		uint32_t count = count_of(rows, n, rows[i].profile);

		if (count > capacity)
			return clv_yaml_fail(rows[i].place, err, -EINVAL,
				"%" PRIu32 " of %s are wanted and one %s holds %u: ask "
				"for at most that",
				count, rows[i].profile, model->name, capacity);
	}
	return clv_yaml_fail(place, err, -EINVAL,
		"one %s does not hold all of these together: leave some out, or spread "
		"them over several devices",
		model->name);
}

static bool is_known(const struct clv_import_row *row)
{
	const struct clv_mig_model *model;

	for (size_t i = 0; (model = clv_mig_model_at(i)); i++) {
		if (clv_mig_profile_find(model, row->profile, NULL) >= 0)
			return true;
	}
	return false;
}

/* The nearest model: one that fits, or of those that have all the profiles the one that
 * holds the most of the first. */
static const struct clv_mig_model *nearest_model(
	const struct clv_import_row *rows, size_t n, enum fit *ret_fit)
{
	const struct clv_mig_model *best = NULL, *model;
	enum fit best_fit = LACKS;

	assert(n > 0);
	for (size_t i = 0; (model = clv_mig_model_at(i)); i++) {
		enum fit fit = fit_on(model, rows, n);

		if (fit > best_fit ||
			(fit == FULL && best_fit == FULL &&
				capacity_of(model, rows[0].profile) >
					capacity_of(best, rows[0].profile))) {
			best = model;
			best_fit = fit;
		}
	}
	*ret_fit = best_fit;
	return best;
}

static int check_on_any(struct clv_import_job *job, const struct clv_import_row *rows,
	size_t n, struct clv_yaml_value place, struct clv_error *err)
{
	const struct clv_mig_model *model;
	enum fit fit;

	for (size_t i = 0; i < n; i++) {
		if (!is_known(&rows[i]))
			return clv_import_remark(job, rows[i].place, err,
				"%s is in none of cleave's tables, so nothing was "
				"checked: see what the driver offers before applying",
				rows[i].profile);
	}
	model = nearest_model(rows, n, &fit);
	if (fit == FULL)
		return fail_with_full(model, rows, n, place, err);
	if (fit == LACKS)
		return clv_yaml_fail(place, err, -EINVAL,
			"no GPU has all of these profiles: take those of one model");
	return 0;
}

static int check_on(const struct clv_mig_model *model, const struct clv_import_row *rows,
	size_t n, struct clv_yaml_value place, struct clv_error *err)
{
	for (size_t i = 0; i < n; i++) {
		int r = clv_mig_profile_find(model, rows[i].profile, err);

		if (r < 0) {
			clv_yaml_prefix_position(rows[i].place, err);
			return r;
		}
	}
	if (fit_on(model, rows, n) == FULL)
		return fail_with_full(model, rows, n, place, err);
	return 0;
}

int clv_import_check_fit(struct clv_import_job *job, const char *model,
	const struct clv_import_row *rows, size_t n, struct clv_yaml_value place,
	struct clv_error *err)
{
	const struct clv_mig_model *table = model ? clv_mig_model_find(model) : NULL;

	if (n == 0)
		return 0;
	if (table)
		return check_on(table, rows, n, place, err);
	if (model)
		return clv_import_remark(job, place, err,
			"cleave has no table of what %s can be divided into, so nothing "
			"was checked: see what the driver offers before applying",
			model);
	return check_on_any(job, rows, n, place, err);
}

static int add_row(struct clv_layout_rule *rule, const struct clv_import_row *row,
	struct clv_error *err)
{
	struct clv_layout_partition *partition = clv_layout_add_partition(rule);

	if (!partition)
		return clv_import_no_memory(row->place, err);
	memcpy(partition->profile, row->profile, sizeof(partition->profile));
	partition->count = row->count;
	partition->line = clv_yaml_line(row->place);
	for (size_t i = 0; i < row->n_parts; i++) {
		if (clv_layout_add_part(partition, row->parts[i]) < 0)
			return clv_import_no_memory(row->place, err);
	}
	return 0;
}

int clv_import_add_rows(struct clv_layout_rule *rule, const struct clv_import_row *rows,
	size_t n, struct clv_error *err)
{
	int r = 0;

	rule->has_mig = true;
	rule->mig = true;
	rule->has_partitions = true;
	for (size_t i = 0; i < n && r >= 0; i++)
		r = add_row(rule, &rows[i], err);
	return r;
}
