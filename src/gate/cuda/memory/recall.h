/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* To be called when memory was spilled: starts or wakes the thread that brings it back
 * (spill.h). */
void clv_cuda_recall_start(void);
void clv_cuda_recall_forget_parent(void);
