/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/backend.h"
#include "backend/nvidia/library.h"

/* What the files of this backend share. */

/* A GPU as NVML numbers it.  Its handle is kept: to look one up makes a real driver
 * initialise the GPU. */
struct clv_nvidia_gpu {
	struct clv_nvml_device *handle;
	int code; /* of the look-up; the handle is good if it is CLV_NVML_SUCCESS */
	char uuid[CLV_NVML_UUID_BYTES];
	/* What went wrong on it and nobody was told yet. */
	uint32_t xids[CLV_READING_XIDS];
	size_t n_xids;
	uint64_t utilization_us; /* the newest sample of its processes that was taken */
};

struct clv_nvidia_backend {
	struct clv_backend base;
	struct clv_nvidia_library nvml;
	bool is_started; /* not after a restart that failed: tried again when needed */
	char driver[CLV_NVML_DRIVER_VERSION_BYTES];
	uint32_t n_vain_restarts;    /* after which no more was seen than before */
	struct clv_nvidia_gpu *gpus; /* by index */
	uint32_t n_gpus;
	struct clv_nvml_event_set *events; /* of Xid errors; NULL: none yet */
};
