/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/amd/kfd.h"
#include "backend/backend.h"
#include "backend/openers.h"
#include "backend/pci.h"

/* A memory mode that was requested and waits for a reload of the driver. */
struct clv_amd_request {
	char scope[24]; /* the XGMI hive, or the address of a GPU outside of hives */
	uint32_t from;  /* the mode at the time of the request, enum clv_memory_mode */
	uint32_t mode;  /* the requested mode, enum clv_memory_mode */
};

struct clv_amd_backend {
	struct clv_backend base;
	struct clv_amd_request *requests; /* owned */
	size_t n_requests;
	struct clv_kfd topology; /* cache for samples; stale if it has no nodes */
};

/* KFD's nodes and the open device files, read once for all devices. */
struct clv_amd_snapshot {
	struct clv_kfd kfd;
	struct clv_openers openers;
};

/* -ENOMEM */
int clv_amd_snapshot_read(struct clv_amd_snapshot *ret);
void clv_amd_snapshot_clear(struct clv_amd_snapshot *scene);
#define _cleanup_scene_ CLV_CLEANUP(clv_amd_snapshot_clear)

/* Fills ret except for name and index.  -ENOMEM. */
int clv_amd_read_device(struct clv_amd_backend *backend, const struct clv_pci *pci,
	const struct clv_amd_snapshot *scene, struct clv_node_device *ret);

/* Appends the device's current partitions.  -ENOMEM. */
int clv_amd_add_partitions(
	const struct clv_amd_snapshot *scene, struct clv_node_device *device);

/* Adds all processes that the driver counts as users of the device.  -ENOMEM. */
int clv_amd_add_holders(
	const struct clv_amd_snapshot *scene, struct clv_node_device *device);

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

/* Completes an interrupted reload: loads the driver if the file that CLEAVE_AMD_RELOAD
 * names exists, which a crash or an error of a reload leaves behind.  0 if there was no
 * interrupted reload. */
int clv_amd_complete_reload(struct clv_error *err);

/* --- requests.c --- */

/* Loads the requests that earlier processes saved since the machine was booted. */
void clv_amd_requests_load(struct clv_amd_backend *backend);
/* The pending memory mode of the device's hive, 0 if none. */
uint32_t clv_amd_requested(
	const struct clv_amd_backend *backend, const struct clv_node_device *device);
/* -ENOMEM */
int clv_amd_record_request(struct clv_amd_backend *backend,
	const struct clv_node_device *device, uint32_t mode);
/* Drops all requests; to be called after a reload of the driver. */
void clv_amd_clear_requests(struct clv_amd_backend *backend);
