/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the ids that kubelet should allocate.  Kubelet passes only the free ids of one
 * resource: a share goes to the device that core/place chooses, where the free fraction
 * of that resource (compute or memory) stands for the other, too.  Replicas are spread or
 * packed, and partitions go to devices whose other partitions are in use. */
#include "base/cleanup.h"
#include "bridge/kubernetes/resource/desired.h"
#include "core/fleet/fleet.h"
#include "core/place/singles.h"

#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

struct source_of_id {
	uint32_t source; /* index in the resource's sources; UINT32_MAX: none */
	uint32_t unit;
	uint32_t index; /* in the array of ids */
};

static uint32_t source_index(
	const struct clv_kube_resource *resource, const struct clv_kube_source *source)
{
	return source ? (uint32_t)(source - resource->sources) : UINT32_MAX;
}

static int compare(const void *a, const void *b)
{
	const struct source_of_id *left = a, *right = b;

	if (left->source != right->source)
		return left->source < right->source ? -1 : 1;
	return left->unit < right->unit ? -1 : left->unit > right->unit;
}

/* Counts the free units of each source. */
static void count(const struct source_of_id *ids, size_t n, uint32_t *n_free)
{
	for (size_t i = 0; i < n; i++) {
		if (ids[i].source != UINT32_MAX)
			n_free[ids[i].source]++;
	}
}

/* The number of free partitions of the partition's device; fewer are better. */
static uint32_t count_beside(
	const struct clv_kube_resource *resource, const uint32_t *n_free, uint32_t source)
{
	uint32_t n = 0;

	for (size_t i = 0; i < resource->n; i++) {
		if (strcmp(resource->sources[i].whole, resource->sources[source].whole) ==
			0)
			n += n_free[i];
	}
	return n;
}

static bool is_spread(const struct clv_kube_resource *resource)
{
	return resource->kind == CLV_KUBE_OF_REPLICA && !resource->is_packed;
}

static uint64_t rank(const struct clv_kube_resource *resource, const uint32_t *n_free,
	uint32_t source, size_t n_wanted)
{
	uint32_t left = resource->kind == CLV_KUBE_OF_ONE
				? count_beside(resource, n_free, source)
				: n_free[source];
	uint64_t by_room = is_spread(resource) ? UINT32_MAX - left : left;

	/* A source with too few units ranks behind all that have enough. */
	return by_room + ((uint64_t)(n_free[source] < n_wanted) << 32);
}

/* Converts units to thousandths of the device, rounded up. */
static uint16_t milli_of(const struct clv_kube_source *source, uint64_t n_units)
{
	uint64_t milli = source->n_units
				 ? (n_units * CLV_PLACE_WHOLE + source->n_units - 1) /
					   source->n_units
				 : CLV_PLACE_WHOLE;

	return milli > CLV_PLACE_WHOLE ? CLV_PLACE_WHOLE : (uint16_t)milli;
}

static struct clv_place_request request_of(
	const struct clv_kube_resource *resource, size_t n_wanted)
{
	struct clv_place_request request = {.n_devices = 1};
	uint64_t mib = n_wanted * resource->unit_bytes / MIB;

	if (resource->kind == CLV_KUBE_OF_MEMORY)
		request.device_mib = mib < UINT32_MAX ? (uint32_t)mib : UINT32_MAX;
	else if (n_wanted <= CLV_KUBE_HUNDREDTHS)
		request.milli =
			(uint16_t)(n_wanted * CLV_PLACE_WHOLE / CLV_KUBE_HUNDREDTHS);
	else
		request.milli = CLV_PLACE_WHOLE + 1;
	return request;
}

static struct clv_single *singles_of(
	const struct clv_kube_resource *resource, const uint32_t *n_free)
{
	struct clv_single *devices = calloc(resource->n + 1, sizeof(*devices));

	for (size_t i = 0; devices && i < resource->n; i++) {
		uint64_t mib = resource->sources[i].memory_bytes / MIB;
		uint16_t milli = milli_of(&resource->sources[i], n_free[i]);

		devices[i].memory_mib = (uint32_t)mib;
		devices[i].free_mib = (uint32_t)(mib * milli / CLV_PLACE_WHOLE);
		devices[i].free_milli = milli;
	}
	return devices;
}

/* UINT32_MAX: no single device has enough. */
static uint32_t choose_by_place(
	const struct clv_kube_resource *resource, const uint32_t *n_free, size_t n_wanted)
{
	struct clv_place_request request = request_of(resource, n_wanted);
	_cleanup_free_ struct clv_single *devices = singles_of(resource, n_free);
	struct clv_singles *singles;
	int64_t score;
	int at;

	if (!devices || clv_singles_new(devices, resource->n, &request, 1, &singles) < 0)
		return UINT32_MAX;
	at = clv_singles_find(singles, 0, resource->n, &request, &score);
	clv_singles_free(singles);
	return at < 0 ? UINT32_MAX : (uint32_t)at;
}

static uint32_t choose_by_rank(
	const struct clv_kube_resource *resource, const uint32_t *n_free, size_t n_wanted)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < resource->n; i++) {
		if (n_free[i] > 0 &&
			(best == UINT32_MAX ||
				rank(resource, n_free, i, n_wanted) <
					rank(resource, n_free, best, n_wanted)))
			best = i;
	}
	return best;
}

static uint32_t choose(const struct clv_kube_resource *resource, const uint32_t *n_free,
	size_t n_wanted, uint32_t wanted_source)
{
	uint32_t best = UINT32_MAX;

	if (wanted_source != UINT32_MAX && n_free[wanted_source] > 0)
		return wanted_source;
	if (resource->kind == CLV_KUBE_OF_SHARE || resource->kind == CLV_KUBE_OF_MEMORY)
		best = choose_by_place(resource, n_free, n_wanted);
	return best == UINT32_MAX ? choose_by_rank(resource, n_free, n_wanted) : best;
}

static uint32_t source_wanted(const struct clv_kube_resource *resource,
	const char *const *must, size_t n_must, const char *near)
{
	uint32_t unit;

	if (n_must > 0)
		return source_index(resource, clv_kube_find_id(resource, must[0], &unit));
	for (uint32_t i = 0; near && i < resource->n; i++) {
		if (strcmp(resource->sources[i].device, near) == 0)
			return i;
	}
	return UINT32_MAX;
}

struct choice {
	const struct source_of_id *musts; /* sorted */
	size_t n_musts, n_wanted, n_taken;
	uint32_t *indexes;
};

static bool is_must(const struct choice *choice, const struct source_of_id *id)
{
	return bsearch(id, choice->musts, choice->n_musts, sizeof(*id), compare);
}

static void take_musts(struct choice *choice, const struct source_of_id *ids, size_t n)
{
	for (size_t i = 0; i < n && choice->n_taken < choice->n_wanted; i++) {
		if (is_must(choice, &ids[i]))
			choice->indexes[choice->n_taken++] = ids[i].index;
	}
}

static void take_from(
	struct choice *choice, const struct source_of_id *ids, size_t n, uint32_t source)
{
	for (size_t i = 0; i < n && choice->n_taken < choice->n_wanted; i++) {
		if (ids[i].source == source && !is_must(choice, &ids[i]))
			choice->indexes[choice->n_taken++] = ids[i].index;
	}
}

/* Finds the source and unit of each id, sorted.  NULL: out of memory. */
static struct source_of_id *resolve(
	const struct clv_kube_resource *resource, const char *const *names, size_t n)
{
	struct source_of_id *ids = calloc(n + 1, sizeof(*ids));

	for (uint32_t i = 0; ids && i < n; i++) {
		const struct clv_kube_source *source =
			clv_kube_find_id(resource, names[i], &ids[i].unit);

		ids[i].source = source_index(resource, source);
		ids[i].index = i;
	}
	if (ids)
		qsort(ids, n, sizeof(*ids), compare);
	return ids;
}

size_t clv_kube_prefer(const struct clv_kube_resource *resource,
	const char *const *available, size_t n_available, const char *const *must,
	size_t n_must, size_t n_wanted, const char *near, uint32_t *ret_indexes)
{
	_cleanup_free_ struct source_of_id *ids =
		resolve(resource, available, n_available);
	_cleanup_free_ struct source_of_id *musts = resolve(resource, must, n_must);
	_cleanup_free_ uint32_t *n_free = calloc(resource->n + 1, sizeof(*n_free));
	struct choice choice = {.musts = musts,
		.n_musts = n_must,
		.n_wanted = n_wanted < n_available ? n_wanted : n_available,
		.indexes = ret_indexes};

	if (!ids || !musts || !n_free)
		return 0;
	count(ids, n_available, n_free);
	take_musts(&choice, ids, n_available);
	while (choice.n_taken < choice.n_wanted) {
		uint32_t source = choose(resource, n_free, n_wanted - choice.n_taken,
			source_wanted(resource, must, n_must, near));

		if (source == UINT32_MAX)
			break;
		take_from(&choice, ids, n_available, source);
		n_free[source] = 0;
	}
	return choice.n_taken;
}
