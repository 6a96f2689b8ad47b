/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* In a forked child: no thread has the lock of the graphs' memory. */
void clv_cuda_graphs_forget_parent(void);
