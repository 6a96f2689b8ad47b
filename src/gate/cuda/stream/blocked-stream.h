/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* In a forked child: forgets the parent's events that are shared between processes. */
void clv_cuda_stand_forget_parent(void);
