/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clv_error;

/* Where sockets and state live.  Paths of the system's agent (root's service) and of a
 * user's own agent differ only in these folders. */
#define CLV_PATH_SYSTEM_RUNTIME "/run/cleave"
#define CLV_PATH_SYSTEM_STATE "/var/lib/cleave"
#define CLV_PATH_LOCKS "/run/lock"
#define CLV_PATH_MAX 4096

/* The gates' files. */
#define CLV_GATE_OPENCL "libcleave-opencl.so"
#define CLV_GATE_CUDA "libcleave-cuda.so"
#define CLV_GATE_HIP "libcleave-hip.so"

/* The drivers' libraries that a lease's mount namespace covers.  Beside the gate are
 * folders: what programs find in place of a library, what the gate finds, and, of what
 * that needs in its turn by looking beside itself, what the gate finds. */
#define CLV_DRIVER_CUDA "libcuda.so.1"
#define CLV_DRIVER_NVML "libnvidia-ml.so.1"
#define CLV_DRIVER_HSA "libhsa-runtime64.so.1"
#define CLV_DRIVER_HIP_5 "libamdhip64.so.5"
#define CLV_DRIVER_HIP_6 "libamdhip64.so.6"
#define CLV_DRIVER_HIP_7 "libamdhip64.so.7"
#define CLV_DRIVERS "drivers"
#define CLV_DRIVERS_REAL "drivers.real"
#define CLV_DRIVERS_BELOW "drivers.below"

/* The calling user's runtime folder: $XDG_RUNTIME_DIR/cleave, else /run/user/UID/cleave
 * if /run/user/UID is ours, else /tmp/cleave-UID.  With make, it is created (0700).
 * Refuses
 * (-EPERM) a folder that another user owns or may write. */
int clv_path_user_runtime(bool make, char *ret, size_t ret_bytes, struct clv_error *err);

/* $XDG_STATE_HOME/cleave, else $HOME/.local/state/cleave; created (0700) with make. */
int clv_path_user_state(bool make, char *ret, size_t ret_bytes, struct clv_error *err);

/* mkdir -p with mode for each folder that is made. */
int clv_path_make(const char *path, unsigned int mode, struct clv_error *err);
