/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The thread that brings spilled memory back (spill.h): something has been spilled. */
void clv_cuda_recall_start(void);
void clv_cuda_recall_forget_parent(void);
