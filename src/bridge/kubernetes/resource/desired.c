/* SPDX-License-Identifier: Apache-2.0 */
/* Derives leases from kubelet's ids: name, device and size. */
#include "bridge/kubernetes/resource/desired.h"

#include "base/cleanup.h"
#include "base/crc32.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kept_text {
	struct kept_text *next;
	char text[];
};

const char *clv_kube_intern(const char *text)
{
	static struct kept_text *kept;
	struct kept_text *one;

	for (one = kept; one; one = one->next) {
		if (strcmp(one->text, text) == 0)
			return one->text;
	}
	one = malloc(sizeof(*one) + strlen(text) + 1);
	if (!one)
		return NULL;
	strcpy(one->text, text);
	one->next = kept;
	kept = one;
	return one->text;
}

static void name_lease(struct clv_kube_desired *desired)
{
	uint64_t sum = CLV_FNV1A_START;

	sum = clv_fnv1a(
		sum, desired->units.resource, strlen(desired->units.resource) + 1);
	sum = clv_fnv1a(sum, desired->units.key, strlen(desired->units.key) + 1);
	sum = clv_fnv1a(sum, desired->units.numbers, desired->units.n * sizeof(uint32_t));
	desired->number = sum;
	snprintf(desired->lease, sizeof(desired->lease),
		CLV_KUBE_LEASE_PREFIX "%016" PRIx64, sum);
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

/* Ids of CLV_KUBE_OF_ONE have no unit, so a checksum of the id is used. */
static int read_keys(const struct clv_kube_resource *resource, const char *const *ids,
	size_t n_ids, struct clv_kube_units *units, struct clv_error *err)
{
	for (size_t i = 0; i < n_ids; i++) {
		if (ids[i][0] == '\0' || strlen(ids[i]) >= CLV_KUBE_KEY_MAX)
			return clv_error_set(err, -EINVAL, "%s has no id '%.80s'",
				resource->name, ids[i]);
		units->numbers[units->n++] = clv_crc32(0, ids[i], strlen(ids[i]));
	}
	return 0;
}

/* All ids must have the same key. */
static int read_units(const struct clv_kube_resource *resource, const char *const *ids,
	size_t n_ids, struct clv_kube_units *units, struct clv_error *err)
{
	char first[CLV_KUBE_KEY_MAX] = "", key[CLV_KUBE_KEY_MAX];

	for (size_t i = 0; i < n_ids; i++) {
		if (clv_kube_split_id(resource, ids[i], key, &units->numbers[i]) < 0)
			return clv_error_set(err, -EINVAL, "%s has no id %.80s",
				resource->name, ids[i]);
		if (i == 0)
			memcpy(first, key, sizeof(first));
		else if (strcmp(first, key) != 0)
			return clv_error_set(err, -EINVAL,
				"no device has %zu of %s left, and a container gets them "
				"from one device: ask for less",
				n_ids, resource->name);
		units->n++;
	}
	units->key = clv_kube_intern(first);
	return 0;
}

static int read_ids(const struct clv_kube_resource *resource, const char *const *ids,
	size_t n_ids, struct clv_kube_units *units, struct clv_error *err)
{
	bool is_of_ones = resource->kind == CLV_KUBE_OF_ONE;
	int r = is_of_ones ? read_keys(resource, ids, n_ids, units, err)
			   : read_units(resource, ids, n_ids, units, err);

	if (r < 0)
		return r;
	qsort(units->numbers, n_ids, sizeof(uint32_t), compare_numbers);
	for (size_t i = 1; i < n_ids; i++) {
		if (units->numbers[i] == units->numbers[i - 1])
			return clv_error_set(
				err, -EINVAL, "an id of %s occurs twice", resource->name);
	}
	units->resource = clv_kube_intern(resource->name);
	if (is_of_ones)
		units->key = clv_kube_intern("");
	return units->resource && units->key
		       ? 0
		       : clv_error_errno(err, ENOMEM, "cannot note %s", resource->name);
}

static void size_lease(struct clv_kube_desired *desired,
	const struct clv_kube_resource *resource, const struct clv_kube_source *source)
{
	uint64_t n = desired->units.n;

	if (resource->kind == CLV_KUBE_OF_MEMORY)
		desired->memory_bytes = n * resource->unit_bytes;
	else if (resource->kind == CLV_KUBE_OF_ONE)
		desired->share_ppm = CLV_PPM;
	else
		desired->share_ppm = (uint32_t)(n * CLV_PPM / source->n_units);
}

/* The names of the ids' devices, with commas; "": one of them does not exist. */
static const char *name_devices(
	const struct clv_kube_resource *resource, const char *const *ids, size_t n_ids)
{
	char names[CLV_KUBE_DEVICES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < n_ids; i++) {
		const struct clv_kube_source *source =
			clv_kube_find_key(resource, ids[i]);

		if (!source || n + strlen(source->device) + 2 > sizeof(names))
			return "";
		n += (size_t)sprintf(names + n, n > 0 ? ",%s" : "%s", source->device);
	}
	return clv_kube_intern(names);
}

/* Sets the device and the size of the lease. */
static void find_device(struct clv_kube_desired *desired,
	const struct clv_kube_resource *resource, const char *const *ids, size_t n_ids)
{
	const struct clv_kube_source *source;

	desired->device = "";
	if (resource->kind == CLV_KUBE_OF_ONE) {
		desired->device = name_devices(resource, ids, n_ids);
		size_lease(desired, resource, NULL);
		return;
	}
	assert(desired->units.n == n_ids);
	source = clv_kube_find_key(resource, desired->units.key);
	if (!source || desired->units.numbers[n_ids - 1] >= source->n_units)
		return;
	desired->device = clv_kube_intern(source->device);
	size_lease(desired, resource, source);
}

int clv_kube_desired_identify(const struct clv_kube_resource *resource,
	const char *const *ids, size_t n_ids, struct clv_kube_desired *ret,
	struct clv_error *err)
{
	struct clv_kube_desired desired = {};
	int r;

	if (n_ids == 0)
		return clv_error_set(err, -EINVAL, "no ids of %s", resource->name);
	desired.units.numbers = calloc(n_ids, sizeof(uint32_t));
	if (!desired.units.numbers)
		return clv_error_errno(err, ENOMEM, "cannot note %s", resource->name);
	r = read_ids(resource, ids, n_ids, &desired.units, err);
	if (r < 0) {
		clv_kube_desired_clear(&desired);
		return r;
	}
	find_device(&desired, resource, ids, n_ids);
	if (!desired.device) {
		clv_kube_desired_clear(&desired);
		return clv_error_errno(err, ENOMEM, "cannot note %s", resource->name);
	}
	name_lease(&desired);
	*ret = desired;
	return 0;
}

int clv_kube_desired_make(const struct clv_kube_resource *resource,
	const char *const *ids, size_t n_ids, struct clv_kube_desired *ret,
	struct clv_error *err)
{
	int r = clv_kube_desired_identify(resource, ids, n_ids, ret, err);

	if (r < 0 || ret->device[0] != '\0')
		return r;
	clv_kube_desired_clear(ret);
	return clv_error_set(
		err, -ENODEV, "%s has no %.80s at present", resource->name, ids[0]);
}

int clv_kube_desired_join(struct clv_kube_desired *share, struct clv_kube_desired *memory,
	struct clv_error *err)
{
	if (strcmp(share->device, memory->device) != 0)
		return clv_error_set(err, -EBUSY,
			"no device has both the share and the memory that the container "
			"asks for: the share is left on %s and the memory on %s",
			share->device, memory->device);
	share->memory_bytes = memory->memory_bytes;
	share->memory = memory->units;
	memory->units = (struct clv_kube_units){};
	return 0;
}

static int copy_units(struct clv_kube_units *units)
{
	uint32_t *numbers;

	if (units->n == 0) {
		units->numbers = NULL;
		return 0;
	}
	numbers = malloc(units->n * sizeof(uint32_t));
	if (numbers)
		memcpy(numbers, units->numbers, units->n * sizeof(uint32_t));
	units->numbers = numbers;
	return numbers ? 0 : -ENOMEM;
}

int clv_kube_desired_copy(
	const struct clv_kube_desired *desired, struct clv_kube_desired *ret)
{
	struct clv_kube_desired copy = *desired;

	if (copy_units(&copy.units) < 0)
		return -ENOMEM;
	if (copy_units(&copy.memory) < 0) {
		free(copy.units.numbers);
		return -ENOMEM;
	}
	copy.options = NULL;
	*ret = copy;
	return 0;
}

void clv_kube_desired_clear(struct clv_kube_desired *desired)
{
	free(desired->units.numbers);
	free(desired->memory.numbers);
	desired->units = desired->memory = (struct clv_kube_units){};
}

static bool overlap(const struct clv_kube_units *a, const struct clv_kube_units *b)
{
	size_t i = 0, j = 0;

	/* Interned texts are equal if their pointers are. */
	if (a->resource != b->resource || a->key != b->key)
		return false;
	while (i < a->n && j < b->n) {
		if (a->numbers[i] == b->numbers[j])
			return true;
		if (a->numbers[i] < b->numbers[j])
			i++;
		else
			j++;
	}
	return false;
}

bool clv_kube_desired_overlaps(
	const struct clv_kube_desired *a, const struct clv_kube_desired *b)
{
	return overlap(&a->units, &b->units) || overlap(&a->memory, &b->memory);
}
