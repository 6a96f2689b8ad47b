/* SPDX-License-Identifier: Apache-2.0 */
/* Packs compute instances, which other tools count, into GPU instances: the largest
 * first, each into the first GPU instance that has room. */
#include "import/mig.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "core/gpu/mig.h"
#include "import/internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A GPU instance that is being filled. */
struct bin {
	struct clv_mig_set set;
	uint32_t parts[CLV_IMPORT_PARTS_MAX];
	size_t n_parts;
};

struct packing {
	const struct clv_import_want *wants;
	size_t n_wants;
	size_t first; /* index in wants of the profile that is being packed */
	const struct clv_mig_model *model; /* of the compute instances inside */
	struct bin bins[CLV_MIG_INSTANCES_MAX];
	size_t n_bins;
};

static bool is_of(const struct packing *packing, size_t at, uint32_t part)
{
	const struct clv_import_profile *first = &packing->wants[packing->first].profile;
	const struct clv_import_profile *profile = &packing->wants[at].profile;

	return profile->part == part && strcmp(profile->name, first->name) == 0;
}

static bool fits_in(const struct clv_mig_model *model, uint8_t part, struct bin *bin)
{
	const struct clv_mig_profile *profile = &model->profiles[part];

	assert(part < model->n_profiles);
	if (bin->n_parts == CLV_IMPORT_PARTS_MAX)
		return false;
	for (uint8_t i = 0; i < profile->n_starts; i++) {
		struct clv_mig_instance instance = {part, profile->starts[i]};

		if (clv_mig_set_add(model, &bin->set, instance) == CLV_MIG_NO_OBSTACLE) {
			bin->parts[bin->n_parts++] = profile->slices;
			return true;
		}
	}
	return false;
}

/* Returns false if more GPU instances are needed than any GPU has. */
static bool put(struct packing *packing, uint8_t part)
{
	assert(packing->n_bins <= CLV_MIG_INSTANCES_MAX);
	for (size_t i = 0; i < CLV_MIG_INSTANCES_MAX; i++) {
		if (i == packing->n_bins)
			packing->bins[packing->n_bins++] = (struct bin){0};
		if (fits_in(packing->model, part, &packing->bins[i]))
			return true;
	}
	return false;
}

static int put_all(struct packing *packing, const struct clv_import_want *want,
	struct clv_error *err)
{
	char name[16];
	int part;

	snprintf(name, sizeof(name), "%" PRIu32 "c", want->profile.part);
	part = clv_mig_profile_find(packing->model, name, err);
	if (part < 0) {
		clv_yaml_prefix_position(want->place, err);
		return part;
	}
	for (uint32_t i = 0; i < want->count; i++) {
		if (!put(packing, (uint8_t)part))
			return clv_yaml_fail(want->place, err, -EINVAL,
				"%" PRIu32 " compute instances are more than any GPU "
				"holds",
				want->count);
	}
	return 0;
}

static bool are_alike(const struct bin *a, const struct bin *b)
{
	return a->n_parts == b->n_parts &&
	       memcmp(a->parts, b->parts, a->n_parts * sizeof(a->parts[0])) == 0;
}

static int add_row(struct clv_import_row **rows, size_t *n,
	const struct clv_import_want *want, const struct bin *bin, struct clv_error *err)
{
	struct clv_import_row *items = *rows;
	struct clv_import_row *row = CLV_APPEND(items, *n);

	*rows = items;
	if (!row)
		return clv_import_no_memory(want->place, err);
	snprintf(row->profile, sizeof(row->profile), "%s", want->profile.name);
	row->count = bin ? 1 : want->count;
	row->place = want->place;
	if (bin) {
		memcpy(row->parts, bin->parts, sizeof(row->parts));
		row->n_parts = bin->n_parts;
	}
	return 0;
}

/* Equal bins are adjacent, because the largest instances were packed first. */
static int add_bins(const struct packing *packing, struct clv_import_row **rows,
	size_t *n, struct clv_error *err)
{
	int r = 0;

	for (size_t i = 0; i < packing->n_bins && r >= 0; i++) {
		if (i > 0 && are_alike(&packing->bins[i - 1], &packing->bins[i]))
			(*rows)[*n - 1].count++;
		else
			r = add_row(rows, n, &packing->wants[packing->first],
				&packing->bins[i], err);
	}
	return r;
}

static int fill(struct packing *packing, struct clv_error *err)
{
	const struct clv_import_want *first = &packing->wants[packing->first];
	int r = 0;

	packing->n_bins = 0;
	packing->model = clv_mig_model_of_parts(first->profile.slices);
	if (!packing->model)
		return clv_yaml_fail(first->place, err, -EINVAL,
			"no GPU instance has %" PRIu32
			" slices: they have 1, 2, 3, 4 or 7",
			first->profile.slices);
	for (uint32_t part = first->profile.slices; part > 0 && r >= 0; part--) {
		for (size_t i = packing->first; i < packing->n_wants && r >= 0; i++) {
			if (is_of(packing, i, part))
				r = put_all(packing, &packing->wants[i], err);
		}
	}
	return r;
}

/* Whether this one was packed together with an earlier one of its profile. */
static bool is_packed(const struct clv_import_want *wants, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (wants[i].profile.part > 0 &&
			strcmp(wants[i].profile.name, wants[at].profile.name) == 0)
			return true;
	}
	return false;
}

int clv_import_pack(const struct clv_import_want *wants, size_t n_wants,
	struct clv_import_row **ret, size_t *ret_n, struct clv_error *err)
{
	struct packing packing = {.wants = wants, .n_wants = n_wants};
	_cleanup_free_ struct clv_import_row *rows = NULL;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < n_wants && r >= 0; i++) {
		packing.first = i;
		if (wants[i].profile.part == 0) {
			r = add_row(&rows, &n, &wants[i], NULL, err);
		} else if (!is_packed(wants, i)) {
			r = fill(&packing, err);
			if (r >= 0)
				r = add_bins(&packing, &rows, &n, err);
		}
	}
	if (r < 0)
		return r;
	*ret = CLV_TAKE(rows);
	*ret_n = n;
	return 0;
}
