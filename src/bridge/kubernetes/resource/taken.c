/* SPDX-License-Identifier: Apache-2.0 */
/* Prefers ids that no lease has. */
#include "bridge/kubernetes/resource/taken.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/crc32.h"

#include <stdlib.h>
#include <string.h>

/* Interned texts are equal if their addresses are. */
static int compare(const void *a, const void *b)
{
	const struct clv_kube_taken_id *left = a, *right = b;

	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

static void add_units(struct clv_kube_taken *taken, const struct clv_kube_units *units)
{
	if (units->n == 0 || units->resource != taken->resource)
		return;
	for (size_t i = 0; i < units->n; i++) {
		struct clv_kube_taken_id *id = CLV_APPEND(taken->ids, taken->n);

		if (!id) {
			taken->is_short = true;
			return;
		}
		*id = (struct clv_kube_taken_id){units->key, units->numbers[i]};
	}
}

void clv_kube_taken_add(
	struct clv_kube_taken *taken, const struct clv_kube_desired *desired)
{
	add_units(taken, &desired->units);
	add_units(taken, &desired->memory);
}

void clv_kube_taken_sort(struct clv_kube_taken *taken)
{
	if (taken->n > 0)
		qsort(taken->ids, taken->n, sizeof(*taken->ids), compare);
}

void clv_kube_taken_clear(struct clv_kube_taken *taken)
{
	free(taken->ids);
	*taken = (struct clv_kube_taken){0};
}

static bool is_taken(const struct clv_kube_taken *taken,
	const struct clv_kube_resource *resource, const char *id)
{
	struct clv_kube_taken_id wanted = {0};
	char key[CLV_KUBE_KEY_MAX];

	if (clv_kube_split_id(resource, id, key, &wanted.number) < 0)
		return false;
	if (resource->kind == CLV_KUBE_OF_ONE) {
		key[0] = '\0';
		wanted.number = clv_crc32(0, id, strlen(id));
	}
	wanted.key = clv_kube_intern(key);
	return taken->n > 0 &&
	       bsearch(&wanted, taken->ids, taken->n, sizeof(wanted), compare);
}

/* The ids of an init container are given to the containers behind it. */
static bool is_among(const char *id, const char *const *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(ids[i], id) == 0)
			return true;
	}
	return false;
}

/* A share is of one device. */
static bool is_of_one_device(const struct clv_kube_resource *resource,
	const char *const *ids, const uint32_t *indexes, size_t n)
{
	const struct clv_kube_source *first = NULL;
	uint32_t unit;

	if (resource->kind != CLV_KUBE_OF_SHARE && resource->kind != CLV_KUBE_OF_MEMORY)
		return true;
	for (size_t i = 0; i < n; i++) {
		const struct clv_kube_source *source =
			clv_kube_find_id(resource, ids[indexes[i]], &unit);

		if (i > 0 && source != first)
			return false;
		first = source;
	}
	return true;
}

size_t clv_kube_prefer_untaken(const struct clv_kube_resource *resource,
	const struct clv_kube_taken *taken, const char *const *available,
	size_t n_available, const char *const *must, size_t n_must, size_t n_wanted,
	const char *near, uint32_t *ret_indexes)
{
	_cleanup_free_ const char **free_ids = calloc(n_available + 1, sizeof(*free_ids));
	_cleanup_free_ uint32_t *places = calloc(n_available + 1, sizeof(*places));
	size_t n_free = 0, n = 0;

	for (uint32_t i = 0; free_ids && places && i < n_available; i++) {
		if (is_taken(taken, resource, available[i]) &&
			!is_among(available[i], must, n_must))
			continue;
		places[n_free] = i;
		free_ids[n_free++] = available[i];
	}
	if (n_free >= n_wanted && n_free < n_available)
		n = clv_kube_prefer(resource, free_ids, n_free, must, n_must, n_wanted,
			near, ret_indexes);
	if (n < n_wanted || n == 0 ||
		!is_of_one_device(resource, free_ids, ret_indexes, n))
		return clv_kube_prefer(resource, available, n_available, must, n_must,
			n_wanted, near, ret_indexes);
	for (size_t i = 0; i < n; i++)
		ret_indexes[i] = places[ret_indexes[i]];
	return n;
}
