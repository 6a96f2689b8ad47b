/* SPDX-License-Identifier: Apache-2.0 */
/* Remarks and rules of an import, and the check for rules that overlap. */
#include "import/internal.h"

#include "base/array.h"
#include "base/error.h"
#include "import/import.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int clv_import_no_memory(struct clv_yaml_value place, struct clv_error *err)
{
	return clv_yaml_fail(place, err, -ENOMEM, "out of memory");
}

int clv_import_remark(struct clv_import_job *job, struct clv_yaml_value place,
	struct clv_error *err, const char *format, ...)
{
	struct clv_import_remark *remark =
		CLV_APPEND(job->out->remarks, job->out->n_remarks);
	struct clv_error text = {0};
	va_list args;

	if (!remark)
		return clv_import_no_memory(place, err);
	va_start(args, format);
	clv_error_setv(&text, 0, format, args);
	va_end(args);
	clv_yaml_prefix_position(place, &text);
	remark->line = clv_yaml_line(place);
	snprintf(remark->text, sizeof(remark->text), "%s", text.msg);
	return 0;
}

int clv_import_remark_time_slices(struct clv_import_job *job, struct clv_yaml_value place,
	uint32_t replicas, struct clv_error *err)
{
	return clv_import_remark(job, place, err,
		"time-slicing lets each replica take all of the memory, a share holds "
		"1/%" PRIu32 " of it: where a workload needs more, list shares with a "
		"memory of their own instead",
		replicas);
}

int clv_import_add_rule(struct clv_import_job *job, struct clv_yaml_value place,
	const char *vendor, const char *model, struct clv_layout_rule **ret,
	struct clv_error *err)
{
	struct clv_import_origin *origin = CLV_APPEND(job->origins, job->n_origins);
	struct clv_layout_rule *rule;

	if (!origin)
		return clv_import_no_memory(place, err);
	*origin = (struct clv_import_origin){place, model};
	rule = clv_layout_add_rule(&job->out->layout);
	if (!rule)
		return clv_import_no_memory(place, err);
	rule->line = clv_yaml_line(place);
	snprintf(rule->select.vendor, sizeof(rule->select.vendor), "%s", vendor);
	if (model)
		snprintf(rule->select.model, sizeof(rule->select.model), "%s", model);
	*ret = rule;
	return 0;
}

int clv_import_add_index(struct clv_layout_rule *rule, uint32_t index,
	struct clv_yaml_value place, struct clv_error *err)
{
	rule->select.model[0] = '\0';
	for (size_t i = 0; i < rule->select.n_indexes; i++) {
		if (rule->select.indexes[i] == index)
			return 0;
	}
	if (clv_selector_add_index(&rule->select, index) < 0)
		return clv_import_no_memory(place, err);
	return 0;
}

static bool share_index(const struct clv_selector *a, const struct clv_selector *b)
{
	for (size_t i = 0; i < a->n_indexes; i++) {
		for (size_t j = 0; j < b->n_indexes; j++) {
			if (a->indexes[i] == b->indexes[j])
				return true;
		}
	}
	return a->n_indexes == 0 || b->n_indexes == 0;
}

static bool share_name(const struct clv_selector *a, const struct clv_selector *b)
{
	for (size_t i = 0; i < a->n_names; i++) {
		for (size_t j = 0; j < b->n_names; j++) {
			if (strcmp(a->names[i], b->names[j]) == 0)
				return true;
		}
	}
	return a->n_names == 0 && b->n_names == 0;
}

static bool share_model(const char *a, const char *b)
{
	return !a || !b || strcasecmp(a, b) == 0;
}

/* Whether the selectors certainly select a common device.  Only the node knows which
 * index belongs to which name, so pairs of these are left to it. */
static bool share_device(const struct clv_selector *a, const struct clv_selector *b)
{
	bool is_all = (a->n_names == 0 && a->n_indexes == 0) ||
		      (b->n_names == 0 && b->n_indexes == 0);

	return is_all || (share_index(a, b) && share_name(a, b));
}

static int check_rule(const struct clv_import_job *job, size_t at, struct clv_error *err)
{
	const struct clv_layout_rule *rules = job->out->layout.rules;

	for (size_t i = 0; i < at; i++) {
		if (share_model(job->origins[i].model, job->origins[at].model) &&
			share_device(&rules[i].select, &rules[at].select))
			return clv_yaml_fail(job->origins[at].place, err, -EINVAL,
				"this and line %" PRIu32 " select the same devices, "
				"and a layout has one rule for each: %s",
				rules[i].line, job->out->format->overlap);
	}
	return 0;
}

int clv_import_check_overlaps(const struct clv_import_job *job, struct clv_error *err)
{
	int r = 0;

	/* A reader that adds a rule past clv_import_add_rule() leaves it no origin. */
	assert(job->n_origins == job->out->layout.n_rules);
	for (size_t i = 1; i < job->out->layout.n_rules && r >= 0; i++)
		r = check_rule(job, i, err);
	return r;
}
