/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "handles.h"

/* MIG devices: compute instances in the list of their GPU, as this process sees it. */

/* Binds the handle of the device at this index; NULL where there is none. */
struct dnv_handle *dnv_mig_at(unsigned gpu, unsigned index);
uint32_t dnv_mig_index(const struct dnv_target *mig);

/* The same placement always has the same UUID. */
void dnv_mig_uuid(const struct dnv_target *mig, bool legacy, char ret[96]);
bool dnv_mig_has_uuid(const struct dnv_handle *handle, const char *uuid);

/* The index of a new device. */
uint32_t dnv_mig_free_index(const struct dnv_gpu_state *gpu);
