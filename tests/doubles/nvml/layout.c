/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

/* GPU instances take units of the GPU's grid, compute instances take compute slices of
 * their GPU instance: both are spans, and a mask has the taken units. */

static uint32_t mask_of(unsigned start, unsigned size)
{
	return ((1U << size) - 1) << start;
}

static bool has_start(const struct dnv_span *span, unsigned start)
{
	for (unsigned i = 0; i < span->n_starts; i++)
		if (span->starts[i] == start)
			return true;
	return false;
}

static unsigned count_free(const struct dnv_span *span, uint32_t taken)
{
	unsigned n = 0;

	for (unsigned i = 0; i < span->n_starts; i++)
		n += !(taken & mask_of(span->starts[i], span->size));
	return n;
}

/* Of the free placements, the driver takes the one that leaves most placements of all
 * profiles; of equals the lowest. This matches listings of real GPUs: seven of 1g go to
 * 6, 4, 5, 0, 1, 2, 3. */
struct choice {
	bool found;
	unsigned start, open;
};

static void consider(struct choice *choice, unsigned start, unsigned open)
{
	if (choice->found && open <= choice->open)
		return;
	*choice = (struct choice){.found = true, .start = start, .open = open};
}

static bool choose(struct choice choice, unsigned size, struct dnv_placement *ret)
{
	if (choice.found)
		*ret = (struct dnv_placement){.start = choice.start, .size = size};
	return choice.found;
}

static uint32_t taken_of_gpu(
	const struct dnv_model *model, const struct dnv_gpu_state *gpu)
{
	uint32_t taken = 0;

	for (unsigned i = 0; i < DNV_GIS_MAX; i++) {
		const struct dnv_gi *gi = &gpu->gis[i];

		if (gi->serial)
			taken |= mask_of(
				gi->start, model->profiles[gi->profile].span.size);
	}
	return taken;
}

/* The resources that the instances have together, besides their units. */
struct sums {
	unsigned slices, of_profile;
	unsigned decoders, encoders, jpegs, ofas;
};

static void add(struct sums *sums, const struct dnv_gi_profile *profile)
{
	sums->slices += profile->slices;
	sums->decoders += profile->engines.decoders;
	sums->encoders += profile->engines.encoders;
	sums->jpegs += profile->engines.jpegs;
	sums->ofas += profile->engines.ofas;
}

/* A GPU has the engines of its largest profile. It follows that there is at most one +me,
 * and that beside +me.all only -me fits. */
static struct dnv_engines engines_of(const struct dnv_model *model)
{
	struct dnv_engines most = {0};

	for (size_t i = 0; i < model->n_profiles; i++)
		if (model->profiles[i].slices == model->slices)
			most = model->profiles[i].engines;
	return most;
}

static bool has_room(
	const struct dnv_model *model, const struct dnv_gpu_state *gpu, unsigned profile)
{
	struct dnv_engines engines = engines_of(model);
	struct sums sums = {.of_profile = 1};

	add(&sums, &model->profiles[profile]);
	for (unsigned i = 0; i < DNV_GIS_MAX; i++) {
		const struct dnv_gi *gi = &gpu->gis[i];

		if (!gi->serial)
			continue;
		add(&sums, &model->profiles[gi->profile]);
		sums.of_profile += gi->profile == profile;
	}
	return sums.slices <= model->slices &&
	       sums.of_profile <= model->profiles[profile].max &&
	       sums.decoders <= engines.decoders && sums.encoders <= engines.encoders &&
	       sums.jpegs <= engines.jpegs && sums.ofas <= engines.ofas;
}

int dnv_gi_fits(const struct dnv_model *model, const struct dnv_gpu_state *gpu,
	unsigned profile, struct dnv_placement at)
{
	const struct dnv_span *span = &model->profiles[profile].span;

	if (at.size != span->size || !has_start(span, at.start))
		return DNV_INVALID_ARGUMENT;
	if (taken_of_gpu(model, gpu) & mask_of(at.start, at.size) ||
		!has_room(model, gpu, profile))
		return DNV_INSUFFICIENT_RESOURCES;
	return DNV_SUCCESS;
}

static unsigned open_on_gpu(const struct dnv_model *model, uint32_t taken)
{
	unsigned n = 0;

	for (size_t i = 0; i < model->n_profiles; i++)
		if (dnv_gi_profile_exists(&model->profiles[i]))
			n += count_free(&model->profiles[i].span, taken);
	return n;
}

bool dnv_gi_place(const struct dnv_model *model, const struct dnv_gpu_state *gpu,
	unsigned profile, struct dnv_placement *ret)
{
	const struct dnv_span *span = &model->profiles[profile].span;
	uint32_t taken = taken_of_gpu(model, gpu);
	struct choice choice = {0};

	for (unsigned i = 0; i < span->n_starts; i++) {
		struct dnv_placement at = {.start = span->starts[i], .size = span->size};

		if (dnv_gi_fits(model, gpu, profile, at) == DNV_SUCCESS)
			consider(&choice, at.start,
				open_on_gpu(model, taken | mask_of(at.start, at.size)));
	}
	return choose(choice, span->size, ret);
}

unsigned dnv_gi_capacity(
	const struct dnv_model *model, const struct dnv_gpu_state *gpu, unsigned profile)
{
	const struct dnv_span *span = &model->profiles[profile].span;
	struct dnv_gpu_state copy = *gpu;
	unsigned n = 0, slot = 0;

	/* The placements of one profile do not overlap, so each one that fits may be
	 * taken. */
	for (unsigned i = 0; i < span->n_starts; i++) {
		struct dnv_placement at = {.start = span->starts[i], .size = span->size};

		while (slot < DNV_GIS_MAX && copy.gis[slot].serial)
			slot++;
		if (slot == DNV_GIS_MAX ||
			dnv_gi_fits(model, &copy, profile, at) != DNV_SUCCESS)
			continue;
		copy.gis[slot] = (struct dnv_gi){.serial = 1,
			.profile = (uint8_t)profile,
			.start = (uint8_t)at.start};
		n++;
	}
	return n;
}

static uint32_t taken_of_gi(const struct dnv_gi *gi)
{
	uint32_t taken = 0;

	for (unsigned i = 0; i < DNV_CIS_MAX; i++) {
		const struct dnv_ci *ci = &gi->cis[i];

		if (ci->serial)
			taken |= mask_of(
				ci->start, dnv_ci_profiles[ci->profile].span.size);
	}
	return taken;
}

int dnv_ci_fits(const struct dnv_gi *gi, unsigned profile, struct dnv_placement at)
{
	const struct dnv_span *span = &dnv_ci_profiles[profile].span;

	if (at.size != span->size || !has_start(span, at.start))
		return DNV_INVALID_ARGUMENT;
	if (taken_of_gi(gi) & mask_of(at.start, at.size))
		return DNV_INSUFFICIENT_RESOURCES;
	return DNV_SUCCESS;
}

static unsigned open_in_gi(
	const struct dnv_model *model, const struct dnv_gi *gi, uint32_t taken)
{
	unsigned n = 0;

	for (size_t i = 0; i < dnv_n_ci_profiles; i++)
		if (dnv_ci_profile_exists(
			    model, &model->profiles[gi->profile], &dnv_ci_profiles[i]))
			n += count_free(&dnv_ci_profiles[i].span, taken);
	return n;
}

bool dnv_ci_place(const struct dnv_model *model, const struct dnv_gi *gi,
	unsigned profile, struct dnv_placement *ret)
{
	const struct dnv_span *span = &dnv_ci_profiles[profile].span;
	uint32_t taken = taken_of_gi(gi);
	struct choice choice = {0};

	for (unsigned i = 0; i < span->n_starts; i++) {
		uint32_t mask = mask_of(span->starts[i], span->size);

		if (!(taken & mask))
			consider(&choice, span->starts[i],
				open_in_gi(model, gi, taken | mask));
	}
	return choose(choice, span->size, ret);
}

unsigned dnv_ci_capacity(const struct dnv_gi *gi, unsigned profile)
{
	return count_free(&dnv_ci_profiles[profile].span, taken_of_gi(gi));
}
