/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/backend.h"
#include "backend/nvidia/library.h"

/* The state of the nvidia backend. */

/* A GPU by its index in NVML.  Its handle is cached, because a lookup makes the driver
 * initialise the GPU. */
struct clv_nvidia_gpu {
	struct clv_nvml_device *handle;
	int code; /* result of the lookup; the handle is valid if CLV_NVML_SUCCESS */
	char uuid[CLV_NVML_UUID_BYTES];
	/* Xid errors since the last sample, each once. */
	uint32_t xids[CLV_READING_XIDS];
	size_t n_xids;
	uint64_t utilization_us; /* time of the newest utilization sample that was read */
};

struct clv_nvidia_backend {
	struct clv_backend base;
	struct clv_nvidia_library nvml;
	bool is_started; /* NVML is initialised; false after a failed restart */
	char driver[CLV_NVML_DRIVER_VERSION_BYTES];
	char cuda[16]; /* the newest CUDA of the driver: "12.2"; "": not known */
	uint32_t n_vain_restarts;    /* restarts of NVML that revealed no MIG device */
	struct clv_nvidia_gpu *gpus; /* by index */
	uint32_t n_gpus;
	struct clv_nvml_event_set *events; /* of Xid errors; NULL: not registered */
	struct clv_closed closed;          /* GPUs that are not opened */
};
