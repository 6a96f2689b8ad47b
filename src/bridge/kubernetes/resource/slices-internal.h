/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/kubernetes/resource/slices.h"

/* What the files of slices share. */

struct clv_kube_maker {
	const struct clv_kube_inventory *inventory;
	const struct clv_kube_settings *settings;
	bool is_apart;
	struct clv_kube_places places;
	struct json_t *specs,
		*sets;        /* sets: of a slice of their own that is being filled */
	struct json_t *plain; /* devices without counters */
};

/* As a quantity of Kubernetes. */
struct json_t *clv_kube_slice_value(uint64_t number);

/* profile "": the whole device.  NULL: out of memory; good until the next one. */
struct clv_kube_place *clv_kube_slice_place(struct clv_kube_maker *maker,
	const char *device, const char *profile, uint32_t start);
/* The device of a slice that the place is. */
struct json_t *clv_kube_slice_device(const struct clv_kube_place *place,
	const struct json_t *device, const char *type, const char *uuid);

/* What it takes of the counters of the whole device, which are taken over. */
void clv_kube_slice_consume(
	struct json_t *one, const struct json_t *device, struct json_t *counters);
/* A slice of a device with counters; both lists are taken over. */
void clv_kube_slice_end(struct clv_kube_maker *maker, const struct json_t *device,
	struct json_t *devices, struct json_t *counters);

/* Whether the driver takes more than one compute mode of the device as its memory is. */
bool clv_kube_slices_has_modes(const struct json_t *device);
int clv_kube_slices_add_modes(struct clv_kube_maker *maker, const struct json_t *device);
