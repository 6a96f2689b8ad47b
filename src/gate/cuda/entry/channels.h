/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* In a forked child: the recorded channels are the parent's. */
void clv_cuda_channels_forget_parent(void);
