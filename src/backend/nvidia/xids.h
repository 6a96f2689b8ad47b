/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/nvidia/nvidia.h"

/* The Xid errors that the driver reports while somebody listens. */

/* Listens, from the first call on, and keeps with each GPU what has come since. */
void clv_nvidia_xids_poll(struct clv_nvidia_backend *backend);

/* NVML is about to be shut down, or its handles to be looked up anew. */
void clv_nvidia_xids_stop(struct clv_nvidia_backend *backend);
