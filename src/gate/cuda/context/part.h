/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/cuda/context/abi.h"

#include <stdbool.h>
#include <stdint.h>

/* The lease's multiprocessors, where it has a limit in space (gate/attach/sm.h); such a
 * lease has one device.  If there is an MPS server, it applies the limit to the process.
 * Otherwise the gate creates the program's non-blocking streams in a green context of
 * these multiprocessors; launches elsewhere are not limited, and the agent is told. */

#define CLV_CUDA_PART_DEVICE 0 /* the only one */

/* Sets the environment for MPS.  To be called before the real cuInit, which reads it. */
void clv_cuda_part_begin(void);

/* The multiprocessors as a resource of the driver.  False: there is no limit, or the
 * driver hands out none. */
bool clv_cuda_part_take(struct clv_cuda_resource *ret);

/* Whether an MPS server applies the limit to the current context; the agent is told if
 * so. */
bool clv_cuda_part_is_of_mps(void);

/* Whether the limit applies to kernels in the stream. */
bool clv_cuda_part_applies_to(void *stream);

/* The program added a kernel to a graph: tells the agent if no limit applies to it. */
void clv_cuda_part_report_graph_kernel(void);
