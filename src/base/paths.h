/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clv_error;

/* Folders for sockets and state.  The paths of the system's agent (root's service) and of
 * a user's own agent differ only in these folders. */
#define CLV_PATH_SYSTEM_RUNTIME "/run/cleave"
#define CLV_PATH_SYSTEM_STATE "/var/lib/cleave"
#define CLV_PATH_SYSTEM_LOCKS "/run/cleave/locks" /* of the system's agent */
#define CLV_PATH_LOCKS "/run/lock"                /* of users' agents */
/* In a container: the folder of its lease, and one with a folder for each of its leases,
 * named after it. */
#define CLV_PATH_LEASE "/run/cleave"
#define CLV_PATH_LEASES "/run/cleave-leases"
#define CLV_PATH_MAX 4096

/* File names of the gates. */
#define CLV_GATE_OPENCL "libcleave-opencl.so"
/* The variable of a lease's programs with the OpenCL drivers that OCL_ICD_FILENAMES named
 * before: only the gate reads it. */
#define CLV_GATED_FILENAMES "CLEAVE_ICD_FILENAMES"
#define CLV_GATE_CUDA "libcleave-cuda.so"
#define CLV_GATE_HIP "libcleave-hip.so"

/* The file beside the link to a lease's socket by which `cleave run --if-no-agent=open`
 * allows the lease's programs to run without an agent. */
#define CLV_LEASE_OPEN "lease.open"

/* Drivers' libraries that a lease's mount namespace covers, and folders next to the gate.
 * "drivers" has the shims that programs find in place of the libraries, "drivers.real"
 * the libraries that the gate finds.  A real library that others look for in their own
 * folder is in "drivers.below" instead, and "drivers.real" links to its shim. */
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
 * if the user owns /run/user/UID, else /tmp/cleave-UID.  With make, it is created (0700).
 * -EPERM for a folder that another user owns or that group or others may write. */
int clv_path_user_runtime(bool make, char *ret, size_t ret_bytes, struct clv_error *err);

/* $XDG_STATE_HOME/cleave, else $HOME/.local/state/cleave; created (0700) with make. */
int clv_path_user_state(bool make, char *ret, size_t ret_bytes, struct clv_error *err);

/* Like mkdir -p; each new folder gets mode. */
int clv_path_make(const char *path, unsigned int mode, struct clv_error *err);
