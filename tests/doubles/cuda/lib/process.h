/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../../gpu/client/process.h"
#include "abi.h"
#include <pthread.h>

/* CUDA in this process: the GPUs that CUDA_VISIBLE_DEVICES leaves. */

struct device {
	uint32_t gpu; /* index in the machine */
	struct dgp_gpu_info info;
	struct ctx *primary;
	uint32_t primary_refs, primary_flags;
	pthread_mutex_t lock;
};

extern struct device dcu_devices[DGP_GPUS_MAX];
extern int dcu_n_devices;
extern uint32_t dcu_version;
extern _Atomic bool dcu_initialized;

int dcu_process_init(void);
struct device *dcu_device_at(int ordinal);
