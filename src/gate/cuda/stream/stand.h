/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Of events that processes share. */
void clv_cuda_stand_forget_parent(void);
