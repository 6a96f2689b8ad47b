/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/slices.h"

/* Shared by slices.c and slices-modes.c. */

/* The state of clv_kube_slices_make(). */
struct clv_kube_maker {
	const struct clv_kube_inventory *inventory;
	const struct clv_kube_settings *settings;
	struct clv_kube_server server;
	struct clv_kube_places places;
	struct json_t *specs, /* complete slices */
		*sets;        /* sets of counters for the next separate slice */
	struct json_t *plain; /* devices without counters for the next slice */
};

/* A counter's value: {"value": "NUMBER"}. */
struct json_t *clv_kube_slice_value(uint64_t number);

/* Adds a place; profile is "" for the whole device.  NULL: out of memory.  The pointer is
 * valid until the next place is added. */
struct clv_kube_place *clv_kube_slice_place(struct clv_kube_maker *maker,
	const char *device, const char *profile, uint32_t start);
/* Makes the slice's device for the place. */
struct json_t *clv_kube_slice_device(const struct clv_kube_maker *maker,
	const struct clv_kube_place *place, const struct json_t *device, const char *type,
	const char *uuid);

/* Sets the counters of device that the slice's device `one` consumes.  Takes ownership of
 * counters. */
void clv_kube_slice_consume(
	struct json_t *one, const struct json_t *device, struct json_t *counters);
/* Adds a slice for a device with counters.  Takes ownership of both lists. */
void clv_kube_slice_end(struct clv_kube_maker *maker, const struct json_t *device,
	struct json_t *devices, struct json_t *counters);

/* Whether the device can have more than one compute mode in its current memory mode. */
bool clv_kube_slices_has_modes(const struct json_t *device);
int clv_kube_slices_add_modes(struct clv_kube_maker *maker, const struct json_t *device);
