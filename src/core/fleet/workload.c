/* SPDX-License-Identifier: Apache-2.0 */
/* Counts shapes of requests in a hash table. */
#include "core/fleet/workload.h"
#include "core/fleet/fleet.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static uint64_t hash_of(const struct clv_workload_shape *shape)
{
	uint64_t hash = mix(shape->models, shape->cpu_milli);

	hash = mix(hash, shape->device_mib);
	return mix(hash, (uint64_t)shape->milli << 24 | (uint64_t)shape->n_devices << 16 |
				 (uint64_t)shape->scheme << 8 | shape->profile);
}

static bool is_same(
	const struct clv_workload_shape *one, const struct clv_workload_shape *other)
{
	return one->models == other->models && one->cpu_milli == other->cpu_milli &&
	       one->device_mib == other->device_mib && one->milli == other->milli &&
	       one->n_devices == other->n_devices && one->scheme == other->scheme &&
	       one->profile == other->profile;
}

/* The slot where the shape is or would be. */
static uint32_t *slot_of(
	const struct clv_workload *workload, const struct clv_workload_shape *shape)
{
	size_t i = hash_of(shape) & (workload->n_slots - 1);

	while (workload->slots[i] &&
		!is_same(&workload->shapes[workload->slots[i] - 1], shape))
		i = (i + 1) & (workload->n_slots - 1);
	return &workload->slots[i];
}

/* Drops the rarest shapes until half of the room is free. */
static void forget_rare(struct clv_workload *workload)
{
	for (uint32_t rare = 1; workload->n_shapes > workload->room / 2; rare *= 2) {
		size_t n = 0;

		for (size_t i = 0; i < workload->n_shapes; i++) {
			if (workload->shapes[i].weight > rare)
				workload->shapes[n++] = workload->shapes[i];
		}
		workload->n_shapes = n;
	}
	memset(workload->slots, 0, workload->n_slots * sizeof(*workload->slots));
	for (size_t i = 0; i < workload->n_shapes; i++)
		*slot_of(workload, &workload->shapes[i]) = (uint32_t)i + 1;
}

static int grow(struct clv_workload *workload)
{
	size_t room = workload->room ? 2 * workload->room : 64;
	struct clv_workload_shape *shapes;
	uint32_t *slots;

	if (workload->n_shapes < workload->room)
		return 0;
	if (workload->n_shapes >= CLV_WORKLOAD_COUNTED_MAX) {
		forget_rare(workload);
		return 0;
	}
	shapes = reallocarray(workload->shapes, room, sizeof(*shapes));
	if (!shapes)
		return -ENOMEM;
	workload->shapes = shapes;
	slots = calloc(2 * room, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(workload->slots);
	workload->slots = slots;
	workload->n_slots = 2 * room;
	workload->room = room;
	for (size_t i = 0; i < workload->n_shapes; i++)
		*slot_of(workload, &shapes[i]) = (uint32_t)i + 1;
	return 0;
}

int clv_workload_add(struct clv_workload *workload,
	const struct clv_place_request *request, uint32_t n)
{
	struct clv_workload_shape shape = {
		.models = request->models,
		.cpu_milli = request->cpu_milli,
		.device_mib = request->device_mib,
		.milli = request->n_devices ? request->milli : 0,
		.n_devices = request->n_devices,
		.scheme = request->scheme,
		.profile = request->profile,
	};
	int r;
	uint32_t *slot;

	/* Not after clv_workload_cut(). */
	assert(workload->slots || workload->n_shapes == 0);
	r = grow(workload);

	if (r < 0)
		return r;
	slot = slot_of(workload, &shape);
	if (*slot == 0) {
		workload->shapes[workload->n_shapes++] = shape;
		*slot = (uint32_t)workload->n_shapes;
	}
	workload->shapes[*slot - 1].weight += n;
	workload->weight += n;
	return 0;
}

static int compare_numbers(uint64_t one, uint64_t other)
{
	return one < other ? 1 : one > other ? -1 : 0;
}

/* Most frequent first.  Among equally frequent shapes the order is by value, so that it
 * does not depend on the order in which they were added. */
static int compare(const void *a, const void *b)
{
	const struct clv_workload_shape *one = a, *other = b;
	int order = compare_numbers(one->weight, other->weight);

	order = order ? order : compare_numbers(one->cpu_milli, other->cpu_milli);
	order = order ? order : compare_numbers(one->milli, other->milli);
	order = order ? order : compare_numbers(one->n_devices, other->n_devices);
	order = order ? order : compare_numbers(one->device_mib, other->device_mib);
	order = order ? order : compare_numbers(one->models, other->models);
	order = order ? order : compare_numbers(one->scheme, other->scheme);
	return order ? order : compare_numbers(one->profile, other->profile);
}

void clv_workload_cut(struct clv_workload *workload, unsigned percent)
{
	uint64_t all = workload->weight, kept = 0;
	size_t n = 0;

	if (workload->n_shapes > 0)
		qsort(workload->shapes, workload->n_shapes, sizeof(*workload->shapes),
			compare);
	while (n < workload->n_shapes && n < CLV_WORKLOAD_TYPICAL_MAX &&
		kept * 100 < all * percent)
		kept += workload->shapes[n++].weight;
	workload->n_shapes = n;
	workload->weight = kept;
	free(workload->slots);
	workload->slots = NULL;
}

void clv_workload_done(struct clv_workload *workload)
{
	free(workload->shapes);
	free(workload->slots);
	*workload = (struct clv_workload){0};
}
