/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A stream of the gate's green context is gone.  With the last one the primary context
 * ends if it was kept by them alone. */
void clv_cuda_green_stream_gone(void);
