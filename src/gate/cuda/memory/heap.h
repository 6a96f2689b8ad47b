/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* In a forked child: no thread has the lock of the limits. */
void clv_cuda_heap_forget_parent(void);
