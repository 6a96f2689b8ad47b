/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "handles.h"

/* Who uses the GPUs, as the file `processes` of the node says: a line each, of
 *   PID GPU GI|- CI|- BYTES|- [C|G|X]
 * with the instances' ids; C computes, G draws, X is not listed and is there all the
 * same. It is read anew for every call. */

/* Somebody uses the target or a part of it. */
bool dnv_processes_use(const struct dnv_target *target);

/* What they have of its memory. */
uint64_t dnv_processes_bytes(const struct dnv_target *target);
