/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clv_mig_model;

/* What NVIDIA's drivers do not tell of their GPUs, or older ones do not. */

/* The table of core for a GPU of that name and size; NULL if there is none. */
const struct clv_mig_model *clv_nvidia_type_find(const char *name, uint64_t memory_bytes);

/* Whether it is of the Ampere generation; architecture is 0 where the driver does not
 * tell it. */
bool clv_nvidia_type_is_ampere(const char *name, uint32_t architecture);

/* How many of what the driver counts as cores a multiprocessor has; 0: not known. */
uint32_t clv_nvidia_type_cores(const char *name, uint32_t architecture);

/* The enum clv_mig_attribute of a profile with this name, from its suffix. */
uint32_t clv_nvidia_type_attributes(const char *profile);

/* The suffix of the profile that has this index (NVML_GPU_INSTANCE_PROFILE_*). */
const char *clv_nvidia_type_suffix(uint32_t index);
