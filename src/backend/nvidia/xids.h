/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/nvidia.h"

/* Xid errors.  The driver reports them only while an event set is registered. */

/* Registers for events with the first call, and appends new Xids to each GPU's xids. */
void clv_nvidia_xids_poll(struct clv_nvidia_backend *backend);

/* Polls once more and unregisters; to be called before NVML is shut down or handles are
 * looked up again. */
void clv_nvidia_xids_stop(struct clv_nvidia_backend *backend);
