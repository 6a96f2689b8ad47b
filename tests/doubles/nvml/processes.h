/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "handles.h"

/* The processes of the GPUs, from the node's file `processes`: a line each, of
 *   PID GPU GI|- CI|- BYTES|- [C|G|M|X]
 * with the instances' ids; C computes, G draws, M computes through MPS, X exists but is
 * not listed. It is read again for every call. */

#define DNV_PROCESSES_MAX 64

/* The processes of these kinds, of a whole GPU or of one MIG device; ret has room for
 * DNV_PROCESSES_MAX. */
int dnv_processes_find(struct dnv_handle *device, const char *kinds,
	struct dnv_process *ret, uint32_t *n);

/* Whether a process uses the target or a part of it. */
bool dnv_processes_use(const struct dnv_target *target);

/* The memory of these processes. */
uint64_t dnv_processes_bytes(const struct dnv_target *target);
