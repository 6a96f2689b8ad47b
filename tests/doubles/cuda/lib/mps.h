/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Whether this process is a client of an MPS daemon: one that answers on the socket
 * `control` in CUDA_MPS_PIPE_DIRECTORY when CUDA is initialized.  There is no server
 * behind it: clients only have fewer multiprocessors. */
void dcu_mps_connect(void);
bool dcu_mps_is_client(void);

/* Of so many multiprocessors those that CUDA_MPS_ACTIVE_THREAD_PERCENTAGE leaves. */
uint32_t dcu_mps_units(uint32_t all);
