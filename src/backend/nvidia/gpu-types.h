/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clv_mig_model;

/* Facts about NVIDIA's GPUs that drivers, or older drivers, do not report. */

/* The MIG table of core for a GPU of that name and memory; NULL if there is none. */
const struct clv_mig_model *clv_nvidia_type_find(const char *name, uint64_t memory_bytes);

/* Whether the GPU is of the Ampere generation.  architecture is NVML's, or 0 if unknown;
 * then the name decides. */
bool clv_nvidia_type_is_ampere(const char *name, uint32_t architecture);

/* The name of the architecture, "hopper"; "" if it is not known.  Static. */
const char *clv_nvidia_type_architecture(const char *name, uint32_t architecture);

/* The cores (as the driver counts them) of one multiprocessor; 0: not known. */
uint32_t clv_nvidia_type_cores(const char *name, uint32_t architecture);

/* The enum clv_mig_attribute for the suffix of a profile's name; 0 without one. */
uint32_t clv_nvidia_type_attributes(const char *profile);

/* The name's suffix for a profile's index (NVML_GPU_INSTANCE_PROFILE_*); "" if none. */
const char *clv_nvidia_type_suffix(uint32_t index);
