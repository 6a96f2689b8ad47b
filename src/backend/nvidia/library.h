/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/nvml.h"

#include <stdbool.h>

struct clv_error;

/* Groups of symbols that an old driver may lack.  One missing symbol disables its whole
 * group; its name is kept for the message. */
enum clv_nvidia_ability {
	CLV_NVIDIA_BASE,      /* required by the backend */
	CLV_NVIDIA_MIG,       /* to read MIG mode, profiles and instances */
	CLV_NVIDIA_MIG_MODE,  /* to turn MIG on and off */
	CLV_NVIDIA_INSTANCES, /* to create and destroy instances at exact places */
	CLV_NVIDIA_PARTS,     /* to create compute instances at exact places */
	CLV_NVIDIA_OPTIONAL,  /* no group: each missing symbol is NULL; the last */
};

typedef int clv_nvml_list_processes(
	struct clv_nvml_device *, uint32_t *, struct clv_nvml_process *);

/* The entry points, found at run time.  All but error_string return an enum
 * clv_nvml_code. */
struct clv_nvidia_library {
	void *handle;
	/* The first missing symbol of each ability, NULL if none is missing. */
	const char *missing[CLV_NVIDIA_OPTIONAL];

	/* CLV_NVIDIA_BASE */
	int (*init)(void);
	int (*shutdown)(void);
	const char *(*error_string)(int);
	int (*get_driver_version)(char *, uint32_t);
	int (*get_count)(uint32_t *);
	int (*get_device)(uint32_t index, struct clv_nvml_device **);
	int (*get_uuid)(struct clv_nvml_device *, char *, uint32_t);
	int (*get_name)(struct clv_nvml_device *, char *, uint32_t);
	int (*get_pci)(struct clv_nvml_device *, struct clv_nvml_pci *);
	int (*get_memory)(struct clv_nvml_device *, struct clv_nvml_memory *);

	/* CLV_NVIDIA_MIG */
	int (*get_mig_mode)(struct clv_nvml_device *, uint32_t *, uint32_t *);
	int (*get_gpu_profile)(
		struct clv_nvml_device *, uint32_t, struct clv_nvml_gpu_profile_v1 *);
	int (*list_gpu_instances)(struct clv_nvml_device *, uint32_t,
		struct clv_nvml_gpu_instance **, uint32_t *);
	int (*get_gpu_instance)(
		struct clv_nvml_gpu_instance *, struct clv_nvml_gpu_instance_info *);
	int (*get_compute_profile)(struct clv_nvml_gpu_instance *, uint32_t, uint32_t,
		struct clv_nvml_compute_profile *);
	int (*list_compute_instances)(struct clv_nvml_gpu_instance *, uint32_t,
		struct clv_nvml_compute_instance **, uint32_t *);
	int (*get_compute_instance)(struct clv_nvml_compute_instance *,
		struct clv_nvml_compute_instance_info *);

	/* CLV_NVIDIA_MIG_MODE */
	int (*set_mig_mode)(struct clv_nvml_device *, uint32_t, int *);

	/* CLV_NVIDIA_INSTANCES */
	int (*create_gpu_instance)(struct clv_nvml_device *, uint32_t,
		const struct clv_nvml_placement *, struct clv_nvml_gpu_instance **);
	int (*destroy_gpu_instance)(struct clv_nvml_gpu_instance *);
	int (*find_gpu_instance)(
		struct clv_nvml_device *, uint32_t, struct clv_nvml_gpu_instance **);
	int (*fill_gpu_instance)(struct clv_nvml_gpu_instance *, uint32_t,
		struct clv_nvml_compute_instance **);
	int (*destroy_compute_instance)(struct clv_nvml_compute_instance *);
	int (*find_compute_instance)(struct clv_nvml_gpu_instance *, uint32_t,
		struct clv_nvml_compute_instance **);

	/* CLV_NVIDIA_PARTS */
	int (*create_compute_instance)(struct clv_nvml_gpu_instance *, uint32_t,
		const struct clv_nvml_placement *, struct clv_nvml_compute_instance **);

	/* CLV_NVIDIA_OPTIONAL */
	int (*get_device_at)(const char *pci_address, struct clv_nvml_device **);
	int (*get_cuda_version)(int *ret_thousands);
	int (*get_capability)(struct clv_nvml_device *, int *ret_major, int *ret_minor);
	int (*get_architecture)(struct clv_nvml_device *, uint32_t *);
	int (*get_core_count)(struct clv_nvml_device *, uint32_t *);
	int (*get_gpu_profile_versioned)(struct clv_nvml_device *, uint32_t, void *);
	int (*list_places)(struct clv_nvml_device *, uint32_t,
		struct clv_nvml_placement *, uint32_t *);
	int (*get_max_mig_devices)(struct clv_nvml_device *, uint32_t *);
	int (*get_mig_device)(
		struct clv_nvml_device *, uint32_t, struct clv_nvml_device **);
	int (*get_gpu_instance_id)(struct clv_nvml_device *, uint32_t *);
	int (*get_compute_instance_id)(struct clv_nvml_device *, uint32_t *);
	clv_nvml_list_processes *list_compute_processes;
	clv_nvml_list_processes *list_graphics_processes;
	clv_nvml_list_processes *list_mps_processes;
	int (*get_process_utilization)(struct clv_nvml_device *,
		struct clv_nvml_process_utilization *, uint32_t *, uint64_t after_us);
	int (*list_vgpu_types)(struct clv_nvml_device *, uint32_t *, uint32_t *);
	int (*get_vgpu_name)(uint32_t, char *, uint32_t *);
	int (*get_vgpu_memory)(uint32_t, uint64_t *);
	int (*get_vgpu_max)(struct clv_nvml_device *, uint32_t, uint32_t *);
	int (*get_power)(struct clv_nvml_device *, uint32_t *ret_milliwatts);
	int (*get_temperature)(
		struct clv_nvml_device *, uint32_t sensor, uint32_t *ret_celsius);
	int (*get_energy)(struct clv_nvml_device *, uint64_t *ret_millijoules);
	int (*get_utilization)(struct clv_nvml_device *, struct clv_nvml_utilization *);
	int (*get_encoder)(struct clv_nvml_device *, uint32_t *ret_percent, uint32_t *);
	int (*get_decoder)(struct clv_nvml_device *, uint32_t *ret_percent, uint32_t *);
	int (*get_ecc_errors)(
		struct clv_nvml_device *, uint32_t type, uint32_t counter, uint64_t *);
	int (*get_remapped_rows)(struct clv_nvml_device *, uint32_t *ret_corrected,
		uint32_t *ret_uncorrected, uint32_t *ret_pending, uint32_t *ret_failed);
	int (*get_retirement_pending)(struct clv_nvml_device *, uint32_t *);
	int (*set_limits)(struct clv_nvml_device *, struct clv_nvml_limits *);
	int (*get_limits)(struct clv_nvml_device *, struct clv_nvml_limits *);
	int (*make_event_set)(struct clv_nvml_event_set **);
	int (*free_event_set)(struct clv_nvml_event_set *);
	int (*register_events)(
		struct clv_nvml_device *, uint64_t types, struct clv_nvml_event_set *);
	int (*wait_for_event)(
		struct clv_nvml_event_set *, struct clv_nvml_event *, uint32_t ms);
};

/* Opens libnvidia-ml.so.1.  -ENODEV: there is no library; -ENOTSUP: it lacks a symbol of
 * CLV_NVIDIA_BASE. */
int clv_nvidia_library_open(struct clv_nvidia_library *ret, struct clv_error *err);
void clv_nvidia_library_close(struct clv_nvidia_library *library);

/* 0, or -ENOTSUP with the missing symbol and the first driver that has it. */
int clv_nvidia_library_require(const struct clv_nvidia_library *library,
	enum clv_nvidia_ability ability, struct clv_error *err);
