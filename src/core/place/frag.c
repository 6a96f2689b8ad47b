/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fragmentation measure from the tables that frag-tables.c creates. */
#include "core/place/frag.h"

#include "core/fleet/fleet-fit.h"
#include "core/fleet/fleet.h"
#include "core/place/frag-internal.h"
#include "core/place/pick.h"

/* The state of a node, as levels of the tables. */
struct view {
	const struct clv_frag *frag;
	const int32_t *takes; /* by level: weight of the shapes that one device takes */
	/* by index in multi: weight of shapes of several devices */
	const int32_t *takes_multi;
	unsigned n_devices;
	uint32_t amounts[CLV_PLACE_DEVICES_MAX];
	uint16_t levels[CLV_PLACE_DEVICES_MAX];
	/* by device: table by units in use; NULL: divided into shares */
	const int32_t *tables[CLV_PLACE_DEVICES_MAX];
};

static unsigned level_of(
	const struct clv_frag *frag, const struct clv_fleet_device *device)
{
	unsigned level = frag->level_of_milli[device->free_milli] * frag->n_mib_levels;

	for (unsigned i = 0; device->memory_mib && i < frag->n_mib_levels - 1; i++)
		level += device->free_mib >= frag->mib[i];
	return device->memory_mib ? level : level + frag->n_mib_levels - 1;
}

/* The free part of a device in thousandths: of its compute or, if the workload asks for
 * memory, the mean of compute and memory. */
static uint32_t amount_of(
	const struct clv_frag *frag, const struct clv_fleet_device *device)
{
	if (frag->n_mib_levels == 1 || device->memory_mib == 0 || device->scheme)
		return device->free_milli;
	return (device->free_milli + (uint32_t)((uint64_t)device->free_mib *
						CLV_PLACE_WHOLE / device->memory_mib)) /
	       2;
}

static unsigned row_of(const struct clv_frag *frag, uint32_t cpu_milli)
{
	unsigned row = 0;

	for (unsigned half = frag->cpu_span; half > 0; half /= 2)
		row += frag->cpu[row + half - 1] <= cpu_milli ? half : 0;
	return row;
}

static void read_row(
	struct view *view, const struct clv_fleet_node *node, uint32_t cpu_milli)
{
	const struct clv_frag *frag = view->frag;
	unsigned model = node->model < frag->n_models ? node->model : frag->n_models;
	unsigned row = model * frag->n_cpu_rows + row_of(frag, cpu_milli);

	view->takes = &frag->takes[row * frag->n_levels];
	view->takes_multi = &frag->takes_multi[row * frag->n_multi];
}

static void read_device(
	struct view *view, unsigned i, const struct clv_fleet_device *device)
{
	view->amounts[i] = amount_of(view->frag, device);
	if (device->scheme && device->scheme <= view->frag->n_schemes) {
		view->tables[i] = view->frag->takes_units[device->scheme - 1];
		view->levels[i] = device->units;
	} else {
		view->tables[i] = NULL;
		view->levels[i] = (uint16_t)level_of(view->frag, device);
	}
}

static void read_node(struct view *view, const struct clv_frag *frag,
	const struct clv_fleet *fleet, const struct clv_fleet_node *node,
	uint32_t cpu_milli)
{
	view->frag = frag;
	view->n_devices = node->n_devices;
	for (unsigned i = 0; i < node->n_devices; i++)
		read_device(view, i, &fleet->devices[node->first_device + i]);
	read_row(view, node, cpu_milli);
}

static inline int64_t stranded_on(const struct view *view, unsigned i)
{
	const int32_t *takes = view->tables[i] ? view->tables[i] : view->takes;

	return (int64_t)view->amounts[i] * (view->frag->weight - takes[view->levels[i]]);
}

/* Shapes of several devices use all that is free on the devices that fit, or nothing if
 * these are too few. */
static int64_t used_by_several(const struct view *view)
{
	int64_t used = 0;

	for (unsigned k = 0; k < view->frag->n_multi; k++) {
		const struct clv_frag_multi *multi = &view->frag->multi[k];
		uint32_t amount = 0;
		unsigned n = 0;

		if (view->takes_multi[k] == 0)
			continue;
		for (unsigned i = 0; i < view->n_devices; i++) {
			bool is_fit =
				!view->tables[i] && multi->fits_level[view->levels[i]];

			n += is_fit;
			amount += is_fit ? view->amounts[i] : 0;
		}
		used += n >= multi->n_devices ? (int64_t)amount * view->takes_multi[k]
					      : 0;
	}
	return used;
}

static int64_t stranded(const struct view *view)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < view->n_devices; i++)
		sum += stranded_on(view, i);
	return sum - used_by_several(view);
}

int64_t clv_frag_node(const struct clv_frag *frag, const struct clv_fleet *fleet,
	const struct clv_fleet_node *node)
{
	struct view view;

	read_node(&view, frag, fleet, node, node->free_cpu_milli);
	return stranded(&view);
}

double clv_frag_fleet(const struct clv_frag *frag, const struct clv_fleet *fleet)
{
	double sum = 0;

	for (uint32_t i = 0; i < fleet->n_nodes; i++) {
		if (!fleet->nodes[i].is_lost)
			sum += (double)clv_frag_node(frag, fleet, &fleet->nodes[i]);
	}
	return sum / (double)frag->weight / CLV_PLACE_WHOLE;
}

int64_t clv_frag_weight(const struct clv_frag *frag)
{
	return frag->weight;
}

/* The device with the request on it. */
static struct clv_fleet_device with_share(
	const struct clv_fleet_device *device, const struct clv_place_request *request)
{
	struct clv_fleet_device after = *device;

	after.free_milli = (uint16_t)(after.free_milli - request->milli);
	after.free_mib -= device->memory_mib ? request->device_mib : 0;
	return after;
}

static struct clv_fleet_device with_partition(const struct clv_fleet *fleet,
	const struct clv_fleet_device *device, const struct clv_place_request *request,
	uint8_t start)
{
	const struct clv_mig_model *model = fleet->schemes[device->scheme - 1].model;
	unsigned size = model->profiles[request->profile - 1].size;
	struct clv_fleet_device after = *device;

	after.units = (uint16_t)(after.units | ((1u << size) - 1) << start);
	after.free_milli =
		(uint16_t)clv_fleet_left_of(model, after.units, CLV_PLACE_WHOLE);
	return after;
}

/* The measure with device i changed and all others unchanged.  singles: the sum of
 * stranded_on() over all devices. */
static int64_t stranded_with(struct view *view, int64_t singles, unsigned i,
	const struct clv_fleet_device *after)
{
	uint32_t amount = view->amounts[i];
	uint16_t level = view->levels[i];

	singles -= stranded_on(view, i);
	read_device(view, i, after);
	singles += stranded_on(view, i) - used_by_several(view);
	view->amounts[i] = amount;
	view->levels[i] = level;
	return singles;
}

static bool is_alike(const struct clv_fleet_device *devices, unsigned i, uint64_t seen)
{
	for (; seen; seen &= seen - 1) {
		const struct clv_fleet_device *other = &devices[__builtin_ctzll(seen)];

		if (other->free_milli == devices[i].free_milli &&
			other->free_mib == devices[i].free_mib &&
			other->units == devices[i].units &&
			other->scheme == devices[i].scheme)
			return true;
	}
	return false;
}

static unsigned options_of_partition(struct view *view, const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	unsigned device, struct clv_frag_option *options, unsigned n_max)
{
	const struct clv_mig_profile *profile =
		&fleet->schemes[request->scheme - 1]
			 .model->profiles[request->profile - 1];
	uint32_t number = node->first_device + device;
	unsigned n = 0;

	for (unsigned j = 0; j < profile->n_starts && n < n_max; j++) {
		struct clv_fleet_device after;

		if (!clv_fit_start(fleet, number, request, profile->starts[j]))
			continue;
		after = with_partition(
			fleet, &fleet->devices[number], request, profile->starts[j]);
		options[n++] = (struct clv_frag_option){
			.gain = -stranded_with(view, 0, device, &after),
			.devices = UINT64_C(1) << device,
			.start = profile->starts[j],
		};
	}
	return n;
}

/* The measure with the request on all of these devices. */
static int64_t stranded_with_several(struct view *view, const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	uint64_t devices)
{
	for (uint64_t left = devices; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		struct clv_fleet_device after =
			with_share(&fleet->devices[node->first_device + i], request);

		read_device(view, i, &after);
	}
	return stranded(view);
}

/* The places of a request for a single device. */
static unsigned options_of_one(struct view *view, const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	int64_t before, struct clv_frag_option *options)
{
	const struct clv_fleet_device *devices = &fleet->devices[node->first_device];
	int64_t singles = 0;
	uint64_t seen = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < view->n_devices; i++)
		singles += stranded_on(view, i);
	for (unsigned i = 0; i < node->n_devices && n < CLV_FRAG_OPTIONS_MAX; i++) {
		unsigned n_before = n;

		if (request->profile) {
			if (devices[i].scheme != request->scheme ||
				is_alike(devices, i, seen))
				continue;
			n += options_of_partition(view, fleet, node, request, i,
				&options[n], CLV_FRAG_OPTIONS_MAX - n);
			for (unsigned k = n_before; k < n; k++)
				options[k].gain += before - singles;
		} else {
			struct clv_fleet_device after;

			if (!clv_fit_device(&devices[i], request) ||
				is_alike(devices, i, seen))
				continue;
			after = with_share(&devices[i], request);
			options[n++] = (struct clv_frag_option){
				.gain = before - stranded_with(view, singles, i, &after),
				.devices = UINT64_C(1) << i,
			};
		}
		if (n > n_before)
			seen |= UINT64_C(1) << i;
	}
	return n;
}

unsigned clv_frag_options(const struct clv_frag *frag, const struct clv_fleet *fleet,
	const struct clv_fleet_node *node, const struct clv_place_request *request,
	struct clv_frag_option options[CLV_FRAG_OPTIONS_MAX])
{
	struct clv_place_at at;
	struct view view;
	int64_t before;

	read_node(&view, frag, fleet, node, node->free_cpu_milli);
	before = stranded(&view);
	read_row(&view, node, node->free_cpu_milli - request->cpu_milli);
	if (request->n_devices == 1 &&
		(request->profile || request->milli < CLV_PLACE_WHOLE))
		return options_of_one(&view, fleet, node, request, before, options);

	clv_pick_devices(fleet, node, request, CLV_PICK_TIGHTEST, &at);
	options[0] = (struct clv_frag_option){
		.gain = before -
			stranded_with_several(&view, fleet, node, request, at.devices),
		.devices = at.devices,
	};
	return 1;
}

/* The amount of a device that the request takes at most; the rest of a device is rounded
 * down, so it may fall by one more. */
static int64_t most_taken(const struct clv_frag *frag, const struct clv_fleet *fleet,
	const struct clv_place_request *request)
{
	if (request->profile)
		return clv_fleet_request_milli(fleet, request) + 1;
	if (frag->n_mib_levels == 1 || request->device_mib == 0)
		return request->milli;
	return (request->milli + CLV_PLACE_WHOLE + 1) / 2;
}

/* The least weight that any of the models takes at that row and level. */
static int32_t least_taken(const struct clv_frag *frag, const struct clv_fleet *fleet,
	uint64_t models, unsigned row, unsigned level)
{
	int32_t least = INT32_MAX;

	if (!models)
		models = UINT64_MAX >> (CLV_PLACE_MODELS_MAX - fleet->n_models);
	for (; models; models &= models - 1) {
		unsigned model = (unsigned)__builtin_ctzll(models);
		int32_t takes;

		model = model < frag->n_models ? model : frag->n_models;
		takes = frag->takes[(model * frag->n_cpu_rows + row) * frag->n_levels +
				    level];
		least = takes < least ? takes : least;
	}
	return least;
}

/* A device that the request fits is useful to all shapes to which the request's own
 * amount would be useful, and with fewer processors and less of the device it is useful
 * to no more of them.  So no more is gained than the request's amount, as far as it is
 * stranded at the least that is free. */
int64_t clv_frag_most(const struct clv_frag *frag, const struct clv_fleet *fleet,
	const struct clv_place_request *request, uint64_t models, uint32_t cpu_milli,
	uint32_t least_milli)
{
	unsigned level = frag->level_of_milli[least_milli] * frag->n_mib_levels;
	int64_t weight = frag->weight;

	if (request->n_devices == 0)
		return 0;
	for (unsigned i = 0; i < frag->n_mib_levels - 1; i++)
		level += request->device_mib >= frag->mib[i];
	if (!request->profile)
		weight -=
			least_taken(frag, fleet, models, row_of(frag, cpu_milli), level);
	return most_taken(frag, fleet, request) * request->n_devices * weight;
}
