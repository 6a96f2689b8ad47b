/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Sets whether this process is a client of an MPS daemon, which is one that answers on
 * the socket `control` in CUDA_MPS_PIPE_DIRECTORY when CUDA is initialized. There is no
 * server behind it: a client only has fewer multiprocessors. */
void dcu_mps_connect(void);
bool dcu_mps_is_client(void);

/* Returns how many of the multiprocessors CUDA_MPS_ACTIVE_THREAD_PERCENTAGE leaves. */
uint32_t dcu_mps_units(uint32_t all);
