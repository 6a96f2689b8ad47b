/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a workload on a fleet: for each kind of place, the weight of the shapes
 * that it could take. */
#include "core/fleet/fleet.h"
#include "core/fleet/workload.h"
#include "core/place/frag-internal.h"
#include "core/place/frag.h"

#include <errno.h>
#include <stdlib.h>

/* Weights are scaled to stay below this, so that the sum of a node stays far from
 * overflow. */
#define MOST_WEIGHT (1 << 24)

struct thresholds {
	uint32_t *items;
	unsigned n;
};

static int compare(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return one < other ? -1 : one > other;
}

static void sort_unique(struct thresholds *t)
{
	unsigned n = 0;

	if (t->n > 0)
		qsort(t->items, t->n, sizeof(*t->items), compare);
	for (unsigned i = 0; i < t->n; i++) {
		if (n == 0 || t->items[n - 1] != t->items[i])
			t->items[n++] = t->items[i];
	}
	t->n = n;
}

static uint32_t cpu_of(const struct clv_workload_shape *shape)
{
	return shape->cpu_milli;
}

static uint32_t milli_of(const struct clv_workload_shape *shape)
{
	return shape->milli;
}

static uint32_t mib_of(const struct clv_workload_shape *shape)
{
	return shape->device_mib;
}

static bool is_share(const struct clv_workload_shape *shape)
{
	return shape->n_devices > 0 && !shape->profile;
}

/* The distinct values above 0 of shapes that are shares. */
static int collect(const struct clv_workload *workload,
	uint32_t (*value)(const struct clv_workload_shape *shape), struct thresholds *ret)
{
	ret->n = 0;
	ret->items = calloc(workload->n_shapes + 1, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < workload->n_shapes; i++) {
		if (is_share(&workload->shapes[i]) && value(&workload->shapes[i]) > 0)
			ret->items[ret->n++] = value(&workload->shapes[i]);
	}
	sort_unique(ret);
	return 0;
}

static int make_cpu(struct clv_frag *frag, const struct clv_workload *workload)
{
	struct thresholds cpu;
	unsigned n = 1;

	if (collect(workload, cpu_of, &cpu) < 0)
		return -ENOMEM;
	while (n < cpu.n + 1)
		n *= 2;
	frag->n_cpu_rows = cpu.n + 1;
	frag->cpu_span = n / 2;
	frag->cpu = reallocarray(cpu.items, n, sizeof(*cpu.items));
	if (!frag->cpu) {
		free(cpu.items);
		return -ENOMEM;
	}
	for (unsigned i = cpu.n; i < n; i++)
		frag->cpu[i] = UINT32_MAX;
	return 0;
}

static int make_levels(struct clv_frag *frag, const struct clv_workload *workload)
{
	struct thresholds milli, mib;
	unsigned level = 0;

	if (collect(workload, milli_of, &milli) < 0)
		return -ENOMEM;
	for (unsigned i = 0; i <= CLV_PLACE_WHOLE; i++) {
		/* At most 255 levels: values above them count as the last one. */
		while (level < milli.n && level < UINT8_MAX && milli.items[level] <= i)
			level++;
		frag->level_of_milli[i] = (uint8_t)level;
	}
	frag->n_milli_levels = level + 1;
	free(milli.items);
	if (collect(workload, mib_of, &mib) < 0)
		return -ENOMEM;
	frag->mib = mib.items;
	frag->n_mib_levels = mib.n + 1;
	frag->n_levels = frag->n_milli_levels * frag->n_mib_levels;
	return 0;
}

/* Whether a device at that level has room for the shape. */
static bool fits_level(
	const struct clv_frag *frag, uint16_t milli, uint32_t device_mib, unsigned level)
{
	unsigned mib_level = level % frag->n_mib_levels;

	return frag->level_of_milli[milli] <= level / frag->n_mib_levels &&
	       (device_mib == 0 ||
		       (mib_level > 0 && frag->mib[mib_level - 1] >= device_mib));
}

static int find_multi(struct clv_frag *frag, const struct clv_workload_shape *shape)
{
	struct clv_frag_multi *multi;
	bool *fits;

	for (unsigned i = 0; i < frag->n_multi; i++) {
		multi = &frag->multi[i];
		if (multi->milli == shape->milli &&
			multi->device_mib == shape->device_mib &&
			multi->n_devices == shape->n_devices)
			return (int)i;
	}
	multi = reallocarray(frag->multi, frag->n_multi + 1, sizeof(*multi));
	if (!multi)
		return -ENOMEM;
	frag->multi = multi;
	fits = calloc(frag->n_levels, sizeof(*fits));
	if (!fits)
		return -ENOMEM;
	for (unsigned i = 0; i < frag->n_levels; i++)
		fits[i] = fits_level(frag, shape->milli, shape->device_mib, i);
	multi[frag->n_multi] = (struct clv_frag_multi){
		.device_mib = shape->device_mib,
		.milli = shape->milli,
		.n_devices = shape->n_devices,
		.fits_level = fits,
	};
	return (int)frag->n_multi++;
}

static void add_single(struct clv_frag *frag, int32_t *takes,
	const struct clv_workload_shape *shape, int32_t weight)
{
	for (unsigned i = 0; i < frag->n_levels; i++) {
		if (fits_level(frag, shape->milli, shape->device_mib, i))
			takes[i] += weight;
	}
}

/* Adds the shape to the rows of a model that have enough processors for it. */
static int add_shape(struct clv_frag *frag, unsigned model,
	const struct clv_workload_shape *shape, int32_t weight)
{
	int multi = shape->n_devices > 1 ? find_multi(frag, shape) : 0;

	if (multi < 0)
		return multi;
	for (unsigned i = 0; i < frag->n_cpu_rows; i++) {
		unsigned row = model * frag->n_cpu_rows + i;

		if (shape->cpu_milli > 0 &&
			(i == 0 || frag->cpu[i - 1] < shape->cpu_milli))
			continue;
		if (shape->n_devices > 1)
			frag->takes_multi[row * frag->n_multi + (unsigned)multi] +=
				weight;
		else
			add_single(
				frag, &frag->takes[row * frag->n_levels], shape, weight);
	}
	return 0;
}

static bool fits_units(const struct clv_mig_profile *profile, unsigned units)
{
	unsigned bits = (1u << profile->size) - 1;

	for (unsigned i = 0; i < profile->n_starts; i++) {
		if (!(units & bits << profile->starts[i]))
			return true;
	}
	return false;
}

static int make_units(struct clv_frag *frag, const struct clv_fleet *fleet,
	const struct clv_workload *workload, unsigned scheme, unsigned divisor)
{
	const struct clv_mig_model *model = fleet->schemes[scheme].model;
	int32_t *takes = calloc(1u << model->grid, sizeof(*takes));

	if (!takes)
		return -ENOMEM;
	frag->takes_units[scheme] = takes;
	for (size_t i = 0; i < workload->n_shapes; i++) {
		const struct clv_workload_shape *shape = &workload->shapes[i];

		if (shape->scheme != scheme + 1 || !shape->profile)
			continue;
		for (unsigned units = 0; units < 1u << model->grid; units++) {
			if (fits_units(&model->profiles[shape->profile - 1], units))
				takes[units] += (int32_t)(shape->weight / divisor);
		}
	}
	return 0;
}

static int make_rows(
	struct clv_frag *frag, const struct clv_workload *workload, unsigned divisor)
{
	size_t n_rows = (size_t)(frag->n_models + 1) * frag->n_cpu_rows;

	for (size_t i = 0; i < workload->n_shapes; i++) {
		if (is_share(&workload->shapes[i]) && workload->shapes[i].n_devices > 1 &&
			find_multi(frag, &workload->shapes[i]) < 0)
			return -ENOMEM;
	}
	frag->takes = calloc(n_rows * frag->n_levels, sizeof(*frag->takes));
	frag->takes_multi =
		calloc(n_rows * (frag->n_multi + 1), sizeof(*frag->takes_multi));
	if (!frag->takes || !frag->takes_multi)
		return -ENOMEM;
	for (size_t i = 0; i < workload->n_shapes; i++) {
		const struct clv_workload_shape *shape = &workload->shapes[i];

		for (unsigned model = 0; is_share(shape) && model < frag->n_models;
			model++) {
			if (!shape->models || shape->models >> model & 1)
				add_shape(frag, model, shape,
					(int32_t)(shape->weight / divisor));
		}
	}
	return 0;
}

static int make(struct clv_frag *frag, const struct clv_fleet *fleet,
	const struct clv_workload *workload)
{
	unsigned divisor = (unsigned)(workload->weight / MOST_WEIGHT) + 1;
	int r;

	for (size_t i = 0; i < workload->n_shapes; i++)
		frag->weight += (int32_t)(workload->shapes[i].weight / divisor);
	if (frag->weight == 0)
		frag->weight = 1;
	frag->n_models = fleet->n_models;
	r = make_cpu(frag, workload);
	if (r == 0)
		r = make_levels(frag, workload);
	if (r == 0)
		r = make_rows(frag, workload, divisor);
	if (r < 0)
		return r;
	frag->takes_units = calloc(fleet->n_schemes + 1, sizeof(*frag->takes_units));
	if (!frag->takes_units)
		return -ENOMEM;
	for (; r == 0 && frag->n_schemes < fleet->n_schemes; frag->n_schemes++)
		r = make_units(frag, fleet, workload, frag->n_schemes, divisor);
	return r;
}

struct clv_frag *clv_frag_new(
	const struct clv_fleet *fleet, const struct clv_workload *workload)
{
	struct clv_frag *frag = calloc(1, sizeof(*frag));

	if (!frag)
		return NULL;
	return make(frag, fleet, workload) == 0 ? frag : clv_frag_free(frag);
}

struct clv_frag *clv_frag_free(struct clv_frag *frag)
{
	if (!frag)
		return NULL;
	for (unsigned i = 0; i < frag->n_multi; i++)
		free(frag->multi[i].fits_level);
	for (unsigned i = 0; frag->takes_units && i < frag->n_schemes; i++)
		free(frag->takes_units[i]);
	free(frag->cpu);
	free(frag->mib);
	free(frag->takes);
	free(frag->multi);
	free(frag->takes_multi);
	free(frag->takes_units);
	free(frag);
	return NULL;
}
