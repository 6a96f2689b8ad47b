/* SPDX-License-Identifier: Apache-2.0 */
/* Compose files with Omnistrate's x-internal-integrations.multiTenantGpu, at the top
 * level or in a service.  Its settings of GPUs become a rule; an import does not run the
 * services. */
#include "import/internal.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "core/gpu/gpu.h"
#include "import/cloud.h"
#include "import/import.h"
#include "import/mig.h"
#include "import/slicing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP "top" /* --select top */

struct slicing {
	struct clv_import_job *job;
	struct clv_yaml_value place;
	struct clv_slicing of;
	const struct clv_gpu *gpu; /* NULL: an unknown type */
	unsigned n_gpus;
};

/* --- Which GPU --- */

static int fail_with_type(const struct slicing *slicing, struct clv_error *err)
{
	const char *nearest = clv_cloud_suggest(slicing->of.type);

	if (nearest)
		return clv_yaml_fail(slicing->of.type_at, err, -EINVAL,
			"the instance type '%.60s' is unknown, and so is how many %s "
			"its GPUs hold: did you mean '%s'?",
			slicing->of.type, slicing->of.profile.name, nearest);
	return clv_yaml_fail(slicing->of.type_at, err, -EINVAL,
		"the instance type '%.60s' is unknown, and so is how many %s its GPUs "
		"hold: use a known one (docs/import.md), or write the layout by hand",
		slicing->of.type, slicing->of.profile.name);
}

static int find_gpu(struct slicing *slicing, struct clv_error *err)
{
	slicing->gpu = clv_cloud_find(slicing->of.type, &slicing->n_gpus);
	if (slicing->gpu)
		return 0;
	if (slicing->of.has_profile)
		return fail_with_type(slicing, err);
	return clv_import_remark(slicing->job, slicing->of.type_at, err,
		"the instance type '%.60s' is unknown: the shares are of every NVIDIA "
		"GPU of the node, set the rule's select if that is wrong",
		slicing->of.type);
}

static int fail_without_mig(const struct slicing *slicing, struct clv_error *err)
{
	bool is_amd = slicing->gpu->vendor == CLV_GPU_AMD;

	return clv_yaml_fail(slicing->of.profile_at, err, -EINVAL,
		"%s has %u x %s, which MIG cannot divide: leave migProfile out and %s",
		slicing->of.type, slicing->n_gpus, clv_gpu_label(slicing->gpu),
		is_amd ? "set compute-mode in the layout (SPX to CPX)"
		       : "use timeSlicingReplicas, or an instance type with A100, H100 "
			 "or newer");
}

/* --- Rules --- */

/* As many partitions as a GPU holds. */
static int count_partitions(
	const struct slicing *slicing, struct clv_import_row *row, struct clv_error *err)
{
	static const struct clv_mig_set empty;
	const struct clv_mig_model *model;
	int profile;

	if (!slicing->gpu->mig)
		return clv_yaml_fail(slicing->of.profile_at, err, -EINVAL,
			"cleave has no table of what %s can be divided into: write the "
			"layout by hand, with the profiles that its driver lists",
			clv_gpu_label(slicing->gpu));
	model = slicing->gpu->mig;
	profile = clv_mig_profile_find(model, slicing->of.profile.name, err);
	if (profile < 0) {
		clv_error_prefix(err, "%s has %u x %s", slicing->of.type, slicing->n_gpus,
			clv_gpu_label(slicing->gpu));
		clv_yaml_prefix_position(slicing->of.profile_at, err);
		return profile;
	}
	row->count = clv_mig_set_capacity(model, &empty, (uint8_t)profile);
	row->place = slicing->of.profile_at;
	memcpy(row->profile, slicing->of.profile.name, sizeof(row->profile));
	return 0;
}

static int add_partitions(const struct slicing *slicing, struct clv_layout_rule *rule,
	struct clv_error *err)
{
	struct clv_import_row row = {0};
	int r = count_partitions(slicing, &row, err);

	if (r >= 0)
		r = clv_import_add_rows(rule, &row, 1, err);
	if (r >= 0)
		rule->partitions[0].shares.n_equal = slicing->of.replicas;
	return r;
}

static int add_rule(struct slicing *slicing, struct clv_error *err)
{
	const struct clv_gpu *gpu = slicing->gpu;
	struct clv_layout_rule *rule;
	int r = clv_import_add_rule(slicing->job, slicing->place,
		clv_gpu_vendor_to_string(gpu ? gpu->vendor : CLV_GPU_NVIDIA),
		gpu ? clv_gpu_selector(gpu) : NULL, &rule, err);

	if (r < 0)
		return r;
	if (slicing->of.has_profile)
		r = add_partitions(slicing, rule, err);
	else
		rule->shares.n_equal = slicing->of.replicas;
	if (r < 0 || slicing->of.replicas < 2)
		return r;
	return clv_import_remark_time_slices(
		slicing->job, slicing->of.replicas_at, slicing->of.replicas, err);
}

static int read_slicing(
	struct clv_import_job *job, struct clv_yaml_value value, struct clv_error *err)
{
	struct slicing slicing = {.job = job, .place = value};
	int r = clv_slicing_read(value, &slicing.of, err);

	if (r < 0)
		return r;
	r = find_gpu(&slicing, err);
	if (r >= 0 && slicing.of.has_profile && !slicing.gpu->has_mig)
		r = fail_without_mig(&slicing, err);
	return r < 0 ? r : add_rule(&slicing, err);
}

/* --- Where multiTenantGpu is --- */

struct places {
	struct clv_import_choice *items;
	size_t n;
};

static bool has_place(const struct places *places, struct clv_yaml_value value)
{
	for (size_t i = 0; i < places->n; i++) {
		/* An alias refers to the same place. */
		if (places->items[i].value.index == value.index)
			return true;
	}
	return false;
}

static int note_place(struct places *places, const char *name, struct clv_yaml_value of,
	struct clv_error *err)
{
	struct clv_yaml_value value;
	struct clv_import_choice *choice;

	if (!clv_slicing_find(of, &value) || has_place(places, value))
		return 0;
	choice = CLV_APPEND(places->items, places->n);
	if (!choice)
		return clv_import_no_memory(value, err);
	*choice = (struct clv_import_choice){name, value};
	return 0;
}

static int remark_service(
	struct clv_import_job *job, struct clv_yaml_value service, struct clv_error *err)
{
	static const struct {
		const char *key;
		const char *says;
	} rows[] = {
		{"autoscaling", "cleave does not scale services: what scales them asks "
				"for a share for each replica"},
		{"serverlessConfiguration",
			"cleave neither stops nor starts idle services: an idle one "
			"costs no compute, the others take its time"},
	};
	struct clv_yaml_value capabilities, value;
	int r = 0;

	if (!clv_yaml_find(service, "x-omnistrate-capabilities", &capabilities))
		return 0;
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows) && r >= 0; i++) {
		if (clv_yaml_find(capabilities, rows[i].key, &value))
			r = clv_import_remark(
				job, value, err, "%s: %s", rows[i].key, rows[i].says);
	}
	return r;
}

static int read_services(struct clv_import_job *job, struct places *places,
	struct clv_yaml_value services, struct clv_error *err)
{
	int r = 0;

	if (clv_yaml_kind(services) != CLV_YAML_MAP)
		return clv_yaml_fail(
			services, err, -EINVAL, "names of services are expected here");
	for (size_t i = 0; i < clv_yaml_count(services) && r >= 0; i++) {
		struct clv_yaml_value service = clv_yaml_at(services, i);

		r = note_place(
			places, clv_yaml_text(clv_yaml_key(services, i)), service, err);
		if (r >= 0)
			r = remark_service(job, service, err);
	}
	if (r < 0 || clv_yaml_count(services) == 0)
		return r;
	return clv_import_remark(job, services, err,
		"a layout runs no services: start each with cleave run, in its share");
}

int clv_import_compose(
	struct clv_import_job *job, struct clv_yaml_value root, struct clv_error *err)
{
	struct clv_yaml_value services, chosen;
	struct places places = {0};
	int r = note_place(&places, TOP, root, err);

	if (r >= 0 && clv_yaml_find(root, "services", &services))
		r = read_services(job, &places, services, err);
	if (r >= 0 && places.n == 0)
		r = clv_yaml_fail(root, err, -EINVAL,
			"no GPU is shared here: " CLV_SLICING_KEY " is neither at the "
			"top nor in a service");
	if (r >= 0)
		r = clv_import_choose(places.items, places.n, job->options->select,
			"service", root, &chosen, err);
	free(places.items);
	return r < 0 ? r : read_slicing(job, chosen, err);
}
