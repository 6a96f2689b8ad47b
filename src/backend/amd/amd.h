/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/amd/kfd.h"
#include "backend/backend.h"
#include "backend/openers.h"
#include "backend/pci.h"

/* A memory mode that was asked for; both of enum clv_memory_mode. */
struct clv_amd_request {
	char scope[24]; /* the hive, or the address of a GPU in none */
	uint32_t from;  /* the mode that it was in */
	uint32_t mode;
};

struct clv_amd_backend {
	struct clv_backend base;
	struct clv_amd_request *requests; /* owned */
	size_t n_requests;
	struct clv_kfd topology; /* for readings; without nodes: to be read anew */
};

/* Who does what at one moment, read once for all devices. */
struct clv_amd_scene {
	struct clv_kfd kfd;
	struct clv_openers openers;
};

/* -ENOMEM */
int clv_amd_scene_read(struct clv_amd_scene *ret);
void clv_amd_scene_clear(struct clv_amd_scene *scene);
#define _cleanup_scene_ CLV_CLEANUP(clv_amd_scene_clear)

/* Fills all but name and index.  -ENOMEM. */
int clv_amd_read_device(struct clv_amd_backend *backend, const struct clv_pci *pci,
	const struct clv_amd_scene *scene, struct clv_node_device *ret);

/* One partition for each that the device is divided into now.  -ENOMEM. */
int clv_amd_add_partitions(
	const struct clv_amd_scene *scene, struct clv_node_device *device);

/* All processes that the driver counts as users of the device.  -ENOMEM. */
int clv_amd_add_holders(
	const struct clv_amd_scene *scene, struct clv_node_device *device);

/* The members of the vtable of the same names. */
int clv_amd_set_compute_mode(struct clv_backend *backend,
	const struct clv_node_device *device, enum clv_compute_mode mode,
	struct clv_error *err);
int clv_amd_set_memory_mode(struct clv_backend *backend,
	const struct clv_node_device *device, enum clv_memory_mode mode,
	struct clv_error *err);
int clv_amd_reload_driver(struct clv_backend *backend,
	const struct clv_node_device *device, struct clv_error *err);

int clv_amd_sample(struct clv_backend *backend, const struct clv_node_device *device,
	struct clv_reading *ret, struct clv_error *err);

/* Loads the driver where a reload was cut short, by a crash or with an error; the file
 * that CLEAVE_AMD_RELOAD names says so.  0 where there was none. */
int clv_amd_end_reload(struct clv_error *err);

/* --- requests.c --- */

/* What an earlier process of this start of the machine has asked for. */
void clv_amd_requests_load(struct clv_amd_backend *backend);
/* What the device's hive was asked for, 0 if nothing. */
uint32_t clv_amd_requested(
	const struct clv_amd_backend *backend, const struct clv_node_device *device);
/* -ENOMEM */
int clv_amd_note_request(struct clv_amd_backend *backend,
	const struct clv_node_device *device, uint32_t mode);
/* The driver was reloaded. */
void clv_amd_forget_requests(struct clv_amd_backend *backend);
