/* SPDX-License-Identifier: Apache-2.0 */
/* A compute mode of AMD's divides the whole GPU, so partitions of different modes exclude
 * each other, and partitions of one mode do not.  This is expressed with counters: each
 * partition of a mode has a counter, which it consumes completely.  Each partition of a
 * finer mode consumes an equal part of it, so that all of them together consume it
 * completely, too.  So a counter that a partition has consumed blocks all finer modes,
 * and any partition of a finer mode leaves too little of it for the coarser one. */
#include "base/array.h"
#include "bridge/kubernetes/resource/slices-internal.h"
#include "core/gpu/xcp.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>

struct mode {
	const char *name;
	char profile[24];
	unsigned n; /* partitions */
};

struct modes {
	struct mode items[_CLV_COMPUTE_MODE_MAX]; /* the coarsest first */
	size_t n;
	unsigned whole; /* the value of a counter: a common multiple of all n */
};

static unsigned common_multiple(unsigned a, unsigned b)
{
	unsigned multiple = a;

	while (multiple % b != 0)
		multiple += a;
	return multiple;
}

static void find_modes(const json_t *xcp, struct modes *ret)
{
	json_int_t available =
		json_integer_value(json_object_get(xcp, "compute_available"));
	json_int_t memory = json_integer_value(json_object_get(xcp, "memory"));
	uint32_t dies = (uint32_t)json_integer_value(json_object_get(xcp, "dies"));
	const char *memory_name = clv_memory_mode_to_string((enum clv_memory_mode)memory);

	*ret = (struct modes){.whole = 1};
	for (unsigned i = 0; i < _CLV_COMPUTE_MODE_MAX && memory_name; i++) {
		unsigned n = clv_xcp_devices((enum clv_compute_mode)i, dies);
		struct mode *mode = &ret->items[ret->n];

		if (n == 0 || !(available & (1 << i)) ||
			!(clv_xcp_memory_modes((enum clv_compute_mode)i, dies) & memory))
			continue;
		mode->name = clv_compute_mode_to_string((enum clv_compute_mode)i);
		snprintf(mode->profile, sizeof(mode->profile), "%s/%s", mode->name,
			memory_name);
		mode->n = n;
		ret->whole = common_multiple(ret->whole, n);
		ret->n++;
	}
}

bool clv_kube_slices_has_modes(const json_t *device)
{
	const json_t *xcp = json_object_get(device, "xcp");
	const char *cannot = json_string_value(json_object_get(device, "cannot_divide"));
	struct modes modes;

	find_modes(xcp, &modes);
	return json_is_object(xcp) && (!cannot || cannot[0] == '\0') && modes.n > 1;
}

static void count(
	json_t *counters, const struct mode *mode, unsigned number, unsigned value)
{
	char name[32];

	snprintf(name, sizeof(name), "%s-%u", mode->name, number);
	for (char *p = name; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	json_object_set_new(counters, name, clv_kube_slice_value(value));
}

/* Counters for all modes but the finest, whose partitions block no finer ones. */
static json_t *make_counters(const struct modes *modes)
{
	json_t *counters = json_object();

	for (size_t i = 0; i + 1 < modes->n; i++) {
		for (unsigned j = 0; j < modes->items[i].n; j++)
			count(counters, &modes->items[i], j, modes->whole);
	}
	return counters;
}

static json_t *make_consumed(const struct modes *modes, size_t at, unsigned number)
{
	json_t *counters = json_object();

	for (size_t i = 0; i < at; i++) {
		for (unsigned j = 0; j < modes->items[i].n; j++)
			count(counters, &modes->items[i], j,
				modes->whole / modes->items[at].n);
	}
	if (at + 1 < modes->n)
		count(counters, &modes->items[at], number, modes->whole);
	return counters;
}

static int add_partition(struct clv_kube_maker *maker, const json_t *device,
	const struct modes *modes, size_t at, unsigned number, json_t *devices)
{
	const struct mode *mode = &modes->items[at];
	struct clv_kube_place *place = clv_kube_slice_place(maker,
		json_string_value(json_object_get(device, "name")), mode->profile,
		number);
	json_t *one;

	if (!place)
		return -ENOMEM;
	place->is_mode = true;
	place->is_divided = mode->n > 1;
	place->is_joinable = true;
	place->memory_bytes =
		(uint64_t)json_integer_value(json_object_get(device, "memory_bytes")) /
		mode->n;
	one = clv_kube_slice_device(maker, place, device, "xcp", "");
	clv_kube_slice_consume(one, device, make_consumed(modes, at, number));
	json_array_append_new(devices, one);
	return 0;
}

int clv_kube_slices_add_modes(struct clv_kube_maker *maker, const json_t *device)
{
	json_t *devices = json_array();
	struct modes modes;
	int r = 0;

	find_modes(json_object_get(device, "xcp"), &modes);
	for (size_t i = 0; i < modes.n; i++) {
		for (unsigned j = 0; j < modes.items[i].n && r >= 0; j++)
			r = add_partition(maker, device, &modes, i, j, devices);
	}
	clv_kube_slice_end(maker, device, devices, make_counters(&modes));
	return r;
}
